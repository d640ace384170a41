#!/usr/bin/python3
"""The action and ci/run-benchmark, as the CI systems run them. TAP on standard output.

The environment: SOURCE_DIR, BUILD_DIR (with the runner, memstacks and the sample benchmark built).
"""
import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

import yaml

from action_schema import check
from github import Job

SOURCE = os.environ["SOURCE_DIR"]
BUILD = os.environ["BUILD_DIR"]
CI = os.path.join(SOURCE, "ci")
SAMPLE = os.path.join(BUILD, "tests", "fixtures", "sample_benchmark")
TIMEOUT = 240


class Skip(Exception):
    pass


def load_action():
    with open(os.path.join(CI, "action.yml"), encoding="utf-8") as file:
        return yaml.safe_load(file)


def need_root():
    if os.geteuid() != 0:
        raise Skip("nothing can be recorded without root")


def has(text, *parts):
    for part in parts:
        assert part in text, f"no {part!r} in:\n{text[:6000]}"


def job(folder, name, inputs, env=()):
    """The action in a new folder; (job, outputs)."""
    need_root()
    place = os.path.join(folder, name)
    os.mkdir(place)
    done = Job(load_action(), CI, place, inputs, {"BUILD_DIR": BUILD, **dict(env)})
    return done, done.run()


def test_schema(_folder):
    assert check(load_action()) == [], check(load_action())


def test_schema_refuses(_folder):
    """What the checker is for."""
    changes = {
        "unknown key": lambda a: a.update(on="push"),
        "no description": lambda a: a.pop("description"),
        "not composite": lambda a: a["runs"].update(using="bash"),
        "no shell": lambda a: a["runs"]["steps"][0].pop("shell"),
        "run and uses": lambda a: a["runs"]["steps"][0].update(uses="a/b@v1"),
        "expression in run": lambda a: a["runs"]["steps"][0].update(run="echo ${{ inputs.run }}"),
        "no such input": lambda a: a["runs"]["steps"][0]["env"].update(X="${{ inputs.nothing }}"),
        "no such step": lambda a: a["outputs"]["summary"].update(value="${{ steps.nothing.outputs.x }}"),
        "default is no string": lambda a: a["inputs"]["scrub"].update(default=False),
        "action without version": lambda a: a["runs"]["steps"][1].update(uses="actions/upload-artifact"),
    }
    for name, change in changes.items():
        action = copy.deepcopy(load_action())
        change(action)
        assert check(action), f"{name}: not noticed"


def test_record(folder):
    done, outputs = job(folder, "record", {"run": f"{SAMPLE} 2000; echo '::error::not a command'"})
    assert done.status == 0, done.log.text
    profile = outputs["profile-folder"]
    with open(os.path.join(profile, "summary.json"), encoding="utf-8") as file:
        figures = json.load(file)["figures"]
    has(done.summary, "## Memory", f"| allocations | {figures['allocations']:,} |", "Call paths with most bytes",
        "count_words", "sample_benchmark.cpp:")
    with open(outputs["summary"], encoding="utf-8") as file:
        assert file.read() == done.summary
    assert len(done.log.groups) == 3, done.log.groups
    assert done.log.annotations == [], done.log.annotations
    assert done.log.stopped is None, "commands are still stopped"
    assert os.listdir(os.path.join(done.artifacts["memory-profile"], "results"))


def test_without_stacks(folder):
    done, _ = job(folder, "no-stacks", {"run": f"{SAMPLE} 500", "experimental-stacks": "false"})
    assert done.status == 0, done.log.text
    has(done.summary, "| distinct stacks | 0 |")
    assert "| allocations | 0 |" not in done.summary, done.summary



def test_scrub(folder):
    """The option arrives: the artifact is smaller, and the stacks are as good."""
    found = []
    for scrub in ("false", "true"):
        done, outputs = job(folder, f"scrub-{scrub}", {"run": f"{SAMPLE} 500", "scrub": scrub})
        assert done.status == 0, done.log.text
        has(done.summary, "count_words")
        found.append(artifact_size(outputs["profile-folder"]))
    assert found[1] < found[0], found


def artifact_size(profile):
    results = os.path.join(profile, "results")
    return sum(os.path.getsize(os.path.join(results, name)) for name in os.listdir(results)
               if name.endswith(".MemtrackArtifact.msgpack"))


def test_baseline(folder):
    """A gate fails; the profile is uploaded nevertheless."""
    old, outputs = job(folder, "old", {"run": f"{SAMPLE} 1000"})
    assert old.status == 0, old.log.text
    gates = "total>+900%\n\npeak>+5%\n"
    new, _ = job(folder, "new", {"run": f"{SAMPLE} 3000", "baseline": outputs["profile-folder"], "fail-on": gates})
    assert new.status == 122, new.log.text
    titles = [(kind, title) for kind, title, _ in new.log.annotations]
    assert titles == [("error", "A gate failed")], new.log.annotations
    assert new.log.annotations[0][2].startswith("peak>+5%: "), new.log.annotations
    has(new.summary, "Compared with the baseline", "❌ failed", "✅ passed", "peak&gt;+5%")
    assert "memory-profile" in new.artifacts
    same, _ = job(folder, "same", {"run": f"{SAMPLE} 1000", "baseline": outputs["profile-folder"],
                                   "fail-on": "peak>+50%"})
    assert same.status == 0, same.log.text
    has(same.summary, "✅ passed")


def test_no_baseline_yet(folder):
    done, _ = job(folder, "first", {"run": f"{SAMPLE} 500", "baseline": "not/there", "fail-on": "peak>+5%"})
    assert done.status == 0, done.log.text
    assert [kind for kind, _, _ in done.log.annotations] == ["warning"], done.log.annotations
    has(done.summary, "no baseline yet")


def test_failing_command(folder):
    done, outputs = job(folder, "failing", {"run": f"{SAMPLE} 500\nexit 7"})
    assert done.status == 7, done.log.text
    assert done.log.annotations[0][:2] == ("error", "The command failed"), done.log.annotations
    has(done.summary, "ended with status 7")
    assert os.path.isdir(outputs["profile-folder"]) and done.artifacts


def test_working_directory(folder):
    place = os.path.join(folder, "a folder; with 'marks' $HOME")
    os.mkdir(place)
    done, _ = job(folder, "directory", {"run": "pwd >where; true", "working-directory": place})
    assert done.status == 0, done.log.text
    with open(os.path.join(place, "where"), encoding="utf-8") as file:
        assert file.read().rstrip("\n") == place


def test_hostile_inputs(folder):
    """No input but the command itself is ever run."""
    owned = os.path.join(folder, "owned")
    texts = [f"$(touch {owned}) `touch {owned}` '; touch {owned}; ' \"; touch {owned}; \"", f"x\ntouch {owned}"]
    old, outputs = job(folder, "hostile-old", {"run": "true"})
    assert old.status == 0, old.log.text
    for i, text in enumerate(texts):
        for name in ("working-directory", "experimental-stacks", "scrub", "baseline", "fail-on"):
            inputs = {"run": "true", name: text}
            if name == "fail-on":
                inputs["baseline"] = outputs["profile-folder"]
            done, _ = job(folder, f"hostile-{i}-{name}", inputs)
            assert not os.path.exists(owned), f"{name}: {text!r} was run"
            assert done.log.annotations, f"{name}: {text!r} went unnoticed\n{done.log.text}"


def test_wrong_use(folder):
    for i, (inputs, message) in enumerate((
            ({"run": ""}, "no command"),
            ({"run": "true", "experimental-stacks": "maybe"}, "true or false"),
            ({"run": "true", "working-directory": "not/there"}, "does not exist"),
            ({"run": "true", "fail-on": "peak>0"}, "baseline"))):
        done, outputs = job(folder, f"wrong-{i}", inputs)
        assert done.status == 125, (inputs, done.log.text)
        assert message in done.log.annotations[0][2], done.log.annotations
        assert not outputs["profile-folder"] and not done.artifacts


def run_elsewhere(folder, name, env, *words):
    """ci/run-benchmark on another system; (status, output, summary)."""
    need_root()
    summary = os.path.join(folder, f"{name}.md")
    clean = {key: value for key, value in os.environ.items()
             if not key.startswith(("GITHUB_", "GITLAB_", "BUILDKITE", "MEMSTACKS_"))}
    clean.update(env, BUILD_DIR=BUILD, TMPDIR=folder, MEMSTACKS_SUMMARY=summary)
    result = subprocess.run([os.path.join(CI, "run-benchmark"), *words], env=clean, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False)
    text = result.stdout.decode(errors="replace")
    assert os.path.exists(summary), text
    with open(summary, encoding="utf-8") as file:
        return result.returncode, text, file.read()


def test_gitlab(folder):
    status, text, summary = run_elsewhere(folder, "gitlab", {"GITLAB_CI": "true"}, "--", "sh", "-c", "exit 5")
    assert status == 5, text
    assert text.count("\x1b[0Ksection_start:") == text.count("\x1b[0Ksection_end:") == 3, text
    has(text, "memstacks_run\r\x1b[0K", "\x1b[31;1merror: The command failed", summary and "the summary is ")


def test_buildkite(folder):
    """With an agent that writes down how it is called."""
    tools = os.path.join(folder, "tools")
    os.mkdir(tools)
    agent = os.path.join(tools, "buildkite-agent")
    with open(agent, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{{ echo \"agent $*\"; cat; }} >>{tools}/log\n")
    os.chmod(agent, 0o755)
    path = f"{tools}:{os.environ['PATH']}"
    status, text, summary = run_elsewhere(folder, "buildkite", {"BUILDKITE": "true", "PATH": path}, "sh", "-c", "exit 5")
    assert status == 5, text
    has(text, "--- memstacks: run ", "^^^ +++\n")
    with open(os.path.join(tools, "log"), encoding="utf-8") as file:
        has(file.read(), "agent annotate --style error", "agent annotate --style info --context memstacks\n" + summary)


def test_bare_shell(folder):
    status, text, summary = run_elsewhere(folder, "bare", {}, "--", SAMPLE, "500")
    assert status == 0, text
    assert "::" not in text.split("memstacks: where")[0] and "section_start" not in text, text
    has(text, "== memstacks: run ")
    has(summary, "## Memory", "count_words")


def hostile_report(name):
    frames = [{"function": name, "module": name}]
    sums = {key: 1 for key in ("total", "count", "peak", "leak", "temporary")}
    return {"partial": True, "problems": [name], "lost": {name: 1}, "distinct-stacks": 1, "processes": [],
            "not-traced": [{"path": name, "pid": 1, "reason": name}], "sum": sums,
            "allocations-by-stack": {"whole": 1}, "benchmarks": [{"uri": name, "count": 1, "total": 1}],
            "call-paths": [{**sums, "frames": frames}]}


def test_escapes(folder):
    """Names of the benchmark change nothing of the page."""
    name = "</code></pre><script>x</script>|`**a** [b](http://c) \n\n# d\x1b[31m"
    files = {"summary": {"command": [name], "command_status": {"exited": 0}, "wall_ns": 1}, "report": hostile_report(name)}
    words = [os.path.join(CI, "job-summary")]
    for key, value in files.items():
        path = os.path.join(folder, f"{key}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(value, file)
        words += [f"--{key}", path]
    page = subprocess.run(words, stdout=subprocess.PIPE, check=True, timeout=TIMEOUT).stdout.decode()
    assert "<script" not in page and "\x1b" not in page and "\n# d" not in page, page
    for line in page.splitlines():
        if line.startswith("| <code>"):
            assert line.count("|") == 5 and "`" not in line and "**" not in line and "](" not in line, line


def test_shellcheck(_folder):
    if not shutil.which("shellcheck"):
        raise Skip("there is no shellcheck")
    scripts = []
    for top in ("ci", ".ci", "tests"):
        for place, _, names in os.walk(os.path.join(SOURCE, top)):
            scripts += [os.path.join(place, name) for name in names if is_script(os.path.join(place, name))]
    assert len(scripts) >= 8, scripts
    result = subprocess.run(["shellcheck", "-x", *scripts], cwd=SOURCE, stdout=subprocess.PIPE, timeout=TIMEOUT,
                            check=False)
    assert result.returncode == 0, result.stdout.decode()


def is_script(path):
    with open(path, "rb") as file:
        line = file.readline(200)
    return line.startswith((b"#!/bin/sh", b"#!/usr/bin/env bash", b"#!/bin/bash", b"# shellcheck shell="))


def main():
    tests = [(name[5:], test) for name, test in list(globals().items()) if name.startswith("test_")]
    wanted = sys.argv[1:]
    tests = [(name, test) for name, test in tests if not wanted or name in wanted]
    print(f"TAP version 13\n1..{len(tests)}", flush=True)
    n_failed = 0
    for i, (name, test) in enumerate(tests, 1):
        with tempfile.TemporaryDirectory(prefix="memstacks-ci.") as folder:
            try:
                test(folder)
                print(f"ok {i} - {name}", flush=True)
            except Skip as reason:
                print(f"ok {i} - {name} # SKIP {reason}", flush=True)
            except Exception:  # pylint: disable=broad-except
                traceback.print_exc()
                n_failed += 1
                print(f"not ok {i} - {name}", flush=True)
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
