"""The rules of GitHub's published schema for action metadata, as far as they concern composite actions."""
import re

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
USES = re.compile(r"(\./.*|docker://.+|[\w.-]+/[\w.-]+(/[\w./-]+)?@[\w./-]+)\Z")
EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.S)
REFERENCE = re.compile(r"\b(inputs|steps|env|github|runner|job|strategy|matrix)\.([\w-]+)(?:\.outputs\.([\w-]+))?")
TOP = {"name", "author", "description", "inputs", "outputs", "runs", "branding"}
INPUT = {"description", "required", "default", "deprecationMessage"}
OUTPUT = {"description", "value"}
STEP = {"name", "id", "if", "env", "continue-on-error"}
RUN_STEP = STEP | {"run", "shell", "working-directory"}
USES_STEP = STEP | {"uses", "with"}


def check_keys(where, value, allowed, required=()):
    if not isinstance(value, dict):
        yield f"{where}: not a mapping"
        return
    for key in value:
        if key not in allowed:
            yield f"{where}: unknown key {key!r}"
    for key in required:
        if key not in value:
            yield f"{where}: no {key}"


def check_text(where, value):
    if not isinstance(value, str):
        yield f"{where}: {value!r} is not a string"


def check_parameters(where, parameters, allowed, required):
    for name, value in (parameters or {}).items():
        if not IDENTIFIER.match(str(name)):
            yield f"{where}.{name}: not an identifier"
        yield from check_keys(f"{where}.{name}", value, allowed, required)
        for key in set(value) - {"required"} if isinstance(value, dict) else ():
            yield from check_text(f"{where}.{name}.{key}", value[key])
        if isinstance(value, dict) and not isinstance(value.get("required", False), bool):
            yield f"{where}.{name}.required: not a boolean"


def check_step(where, step):
    if not isinstance(step, dict) or ("run" in step) == ("uses" in step):
        yield f"{where}: needs one of run and uses"
        return
    if "run" in step:
        yield from check_keys(where, step, RUN_STEP, ("shell",))
        if EXPRESSION.search(str(step["run"])):
            yield f"{where}.run: an expression in a shell's text; use env"
    else:
        yield from check_keys(where, step, USES_STEP)
        if not USES.match(str(step["uses"])):
            yield f"{where}.uses: {step['uses']!r} names no action"
    for key in ("env", "with"):
        for name, value in step.get(key, {}).items():
            if not isinstance(value, (str, int, float, bool)):
                yield f"{where}.{key}.{name}: not a scalar"


def texts(value):
    if isinstance(value, dict):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, str):
        yield value


def check_references(action):
    """Expressions name inputs that are declared and steps that have an id."""
    steps = action["runs"]["steps"]
    ids = [step.get("id") for step in steps if step.get("id")]
    expressions = [text for value in texts(action) for text in EXPRESSION.findall(value)]
    expressions += [str(step["if"]) for step in steps if "if" in step]
    for expression in expressions:
        for context, name, _ in REFERENCE.findall(expression):
            if context == "inputs" and name not in (action.get("inputs") or {}):
                yield f"{expression.strip()}: no such input"
            if context == "steps" and name not in ids:
                yield f"{expression.strip()}: no such step"
    for name in {name for name in ids if ids.count(name) > 1}:
        yield f"step id {name} is not unique"


def check(action):
    """Everything that is wrong with a composite action."""
    problems = list(check_keys("action", action, TOP, ("name", "description", "runs")))
    if problems:
        return problems
    problems += check_text("name", action["name"])
    problems += check_text("description", action["description"])
    problems += check_parameters("inputs", action.get("inputs"), INPUT, ("description",))
    problems += check_parameters("outputs", action.get("outputs"), OUTPUT, ("description", "value"))
    runs = action["runs"]
    problems += check_keys("runs", runs, {"using", "steps"}, ("using", "steps"))
    if problems:
        return problems
    if runs["using"] != "composite":
        problems.append("runs.using: not composite")
    if not isinstance(runs["steps"], list) or not runs["steps"]:
        return problems + ["runs.steps: not a list of steps"]
    for i, step in enumerate(runs["steps"]):
        problems += check_step(f"runs.steps[{i}]", step)
    return problems or list(check_references(action))
