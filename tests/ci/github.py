"""Runs the steps of a composite action as a GitHub runner does: its variables, its files, its log commands."""
import os
import re
import shutil
import subprocess

from action_schema import EXPRESSION

COMMAND = re.compile(r"\s*::([a-z-]+)(?: ([^:]*(?::[^:]+)*?))?::(.*)")
TIMEOUT = 240


class Log:
    """The log commands in what a step printed."""

    def __init__(self, text):
        self.text = text
        self.groups, self.annotations, self.stopped = [], [], None
        for line in text.splitlines():
            self.read(line)

    def read(self, line):
        if self.stopped is not None:
            if line.strip() == f"::{self.stopped}::":
                self.stopped = None
            return
        match = COMMAND.match(line)
        if not match:
            return
        name, properties, data = match.groups()
        if name == "stop-commands":
            self.stopped = data
        elif name == "group":
            self.groups.append(unescape(data))
        elif name in ("error", "warning"):
            title = re.search(r"title=([^,]*)", properties or "")
            self.annotations.append((name, unescape(title.group(1)) if title else "", unescape(data)))


def unescape(text):
    for escaped, plain in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(escaped, plain)
    return text


def read_outputs(path):
    """GITHUB_OUTPUT: NAME=VALUE lines, and NAME<<END blocks."""
    outputs, end, name, value = {}, None, None, []
    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if end is not None:
                if line == end:
                    outputs[name], end = "\n".join(value), None
                else:
                    value.append(line)
            elif "<<" in line:
                name, end = line.split("<<", 1)
                value = []
            elif line:
                name, text = line.split("=", 1)
                outputs[name] = text
    assert end is None, f"output {name} has no end"
    return outputs


class Job:
    """One run of the action in a folder of its own."""

    def __init__(self, action, action_path, folder, inputs, env=()):
        self.action, self.action_path, self.folder = action, action_path, folder
        self.inputs = {name: value.get("default", "") for name, value in action["inputs"].items()}
        assert set(inputs) <= set(self.inputs), "unknown input"
        self.inputs.update(inputs)
        self.env = dict(env)
        self.outputs, self.log, self.summary, self.artifacts = {}, None, "", {}
        self.failed = False
        self.status = None
        for name in ("workspace", "temp", "artifacts"):
            os.makedirs(os.path.join(folder, name))

    def place(self, name):
        return os.path.join(self.folder, name)

    def evaluate(self, text):
        """The texts in it replaced."""
        def value(match):
            words = match.group(1).strip().split(".")
            if words[0] == "inputs":
                return self.inputs[words[1]]
            assert words[0] == "steps" and words[2] == "outputs", f"cannot evaluate {match.group(0)}"
            return self.outputs.get(words[1], {}).get(words[3], "")
        return EXPRESSION.sub(value, str(text))

    def is_wanted(self, step):
        condition = step.get("if")
        if condition is None:
            return not self.failed
        match = re.fullmatch(r"always\(\) && steps\.([\w-]+)\.outputs\.([\w-]+) != ''", condition)
        assert match, f"cannot evaluate {condition}"
        return bool(self.outputs.get(match.group(1), {}).get(match.group(2)))

    def environment(self, step):
        files = {name: self.place(name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV",
                                                     "GITHUB_PATH", "GITHUB_STATE")}
        for path in files.values():
            open(path, "w", encoding="utf-8").close()
        return {**os.environ, **files, "CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_JOB": "bench",
                "GITHUB_ACTION_PATH": self.action_path, "GITHUB_WORKSPACE": self.place("workspace"),
                "GITHUB_REPOSITORY": "owner/repository", "RUNNER_TEMP": self.place("temp"), "TMPDIR": self.place("temp"),
                "RUNNER_OS": "Linux", "RUNNER_ARCH": "X64", "RUNNER_NAME": "runner 1", "RUNNER_ENVIRONMENT": "self-hosted",
                "RUNNER_DEBUG": "1", "RUNNER_TOOL_CACHE": self.place("temp"), "RUNNER_WORKSPACE": self.folder,
                **self.env, **{name: self.evaluate(value) for name, value in step.get("env", {}).items()}}

    def run_script(self, step):
        script = self.place("step.sh")
        with open(script, "w", encoding="utf-8") as file:
            file.write(step["run"] + "\n")
        env = self.environment(step)
        result = subprocess.run(["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", script], env=env,
                                cwd=self.place("workspace"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False)
        self.log = Log(result.stdout.decode(errors="replace"))
        self.status = result.returncode
        self.failed = self.failed or result.returncode != 0
        self.outputs[step.get("id")] = read_outputs(env["GITHUB_OUTPUT"])
        with open(env["GITHUB_STEP_SUMMARY"], encoding="utf-8") as file:
            self.summary += file.read()

    def use_action(self, step):
        assert step["uses"].startswith("actions/upload-artifact@"), f"cannot run {step['uses']}"
        name, path = (self.evaluate(step["with"][key]) for key in ("name", "path"))
        shutil.copytree(path, os.path.join(self.place("artifacts"), name))
        self.artifacts[name] = os.path.join(self.place("artifacts"), name)

    def run(self):
        for step in self.action["runs"]["steps"]:
            if self.is_wanted(step):
                (self.run_script if "run" in step else self.use_action)(step)
        return {name: self.evaluate(value["value"]) for name, value in self.action["outputs"].items()}
