"""The hook of pre-commit, the action, and what the docs show do what is said, on programs with a fault and without."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.commands import called
from tests.installed import as_command, empty_environment, shell

ROOT = Path(__file__).parents[2]
TRIED = re.compile(r"<!-- try: ([\w-]+) -->\n```\w+\n(.*?)```\n", re.DOTALL)
FAULTY = ROOT / "tests" / "cuda" / "faults" / "double_free.cu"
SOUND = """__global__ void one(int* x) { *x = 1; }
int main() {
    int* x;
    cudaMalloc(&x, sizeof(int));
    one<<<1, 1>>>(x);
    cudaDeviceSynchronize();
    cudaFree(x);
}
"""
ANNOTATION = "::error file=src/softmax.cu,line=12,title=double free::"


def recipes() -> dict[str, str]:
    return dict(TRIED.findall((ROOT / "docs" / "cuda-check.md").read_text(encoding="utf-8")))


def hook() -> dict[str, str]:
    """The fields of the only hook."""
    text = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    assert text.count("- id: ") == 1
    return dict(re.findall(r"^[- ] (\w+): (.+)$", text, re.MULTILINE))


def steps() -> dict[str, tuple[str, dict[str, str]]]:
    """The steps of the action by name: what the shell runs, and its variables."""
    found = {}
    for text in (ROOT / "action.yml").read_text(encoding="utf-8").split("    - name: ")[1:]:
        name, _, rest = text.partition("\n")
        run, _, env = rest.partition("      env:\n")
        block = run.partition("run: ")[2].removeprefix("|\n")
        assert "shell: bash\n" in run
        found[name] = (block, dict(re.findall(r"^        (\w+): (.+)$", env, re.MULTILINE)))
    return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a staged program that has a fault, one that has none, and a file without a `main`."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "softmax.cu").write_bytes(FAULTY.read_bytes())
    (tmp_path / "src" / "sound.cu").write_text(SOUND, encoding="utf-8")
    (tmp_path / "src" / "kernels.cu").write_text("__global__ void k() {}\n", encoding="utf-8")
    for words in (["init", "-q"], ["add", "src"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


@pytest.fixture
def commands(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return as_command(tmp_path_factory.mktemp("commands") / "bin")


def test_the_hook_of_pre_commit_names_what_is_wrong(project: Path, commands: Path) -> None:
    """Its entry, the user's args and the matching files, as pre-commit joins them."""
    about = hook()
    assert about["language"] == "python" and about["require_serial"] == "true"
    assert f"id: {about['id']}" in recipes()["pre-commit"]
    given = re.findall(r"[\w-]+", recipes()["pre-commit"].partition("args: [")[2].partition("]")[0])
    listed = subprocess.run(["git", "ls-files"], cwd=project, capture_output=True, text=True, check=True)
    files = [name for name in listed.stdout.split() if re.search(about["files"], name)]
    assert len(files) == 3
    entry = shlex.join([*shlex.split(about["entry"]), *given, *files])
    stopped = shell(entry, project, commands)
    assert stopped.returncode == 1 and "double free" in stopped.stdout, stopped.stderr
    assert "sound.cu: no defect found" in stopped.stdout, stopped.stdout
    assert "no main: src/kernels.cu" in stopped.stderr
    files.remove("src/softmax.cu")
    passed = shell(shlex.join([*shlex.split(about["entry"]), *given, *files]), project, commands)
    assert passed.returncode == 0, passed.stderr


def test_the_action_installs_the_command_and_annotates_the_line(project: Path, tmp_path: Path) -> None:
    commands = empty_environment(tmp_path / "environment")
    given = {"${{ github.action_path }}": str(ROOT), "${{ inputs.arguments }}": "--seconds 60"}
    runs = steps()
    assert list(runs) == ["Install", "Check"]

    def run(name: str, files: str) -> "subprocess.CompletedProcess[str]":
        block, variables = runs[name]
        values = {**given, "${{ inputs.files }}": files}
        return shell(block, project, commands, **{key: values[value] for key, value in variables.items()})

    assert not (commands / "harness").exists()
    installed = run("Install", "")
    assert installed.returncode == 0 and (commands / "harness").exists(), installed.stderr
    told = run("Check", "src/*.cu")
    assert told.returncode == 1 and ANNOTATION in told.stdout, told.stdout + told.stderr
    assert run("Check", "**/sound.cu other/*.cu").returncode == 0
    nothing = run("Check", "other/*.cu")
    assert (nothing.returncode, nothing.stdout) == (0, "no files match other/*.cu\n")


def test_the_action_s_inputs_are_those_of_the_docs() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    named = re.findall(r"(\w+): \"", recipes()["workflow"].partition("with: {")[2].partition("}")[0])
    assert named == re.findall(r"^  (\w+):$", text.partition("inputs:\n")[2].partition("runs:\n")[0], re.MULTILINE)


def test_the_hook_of_git_stops_a_commit_with_a_fault(project: Path, commands: Path) -> None:
    (hook := project / ".git" / "hooks" / "pre-commit").write_text(recipes()["hook"], encoding="utf-8")
    hook.chmod(0o755)
    words = "git -c user.name=a -c user.email=a@b commit -qm all"
    stopped = shell(words, project, commands)
    assert (stopped.returncode, "double free" in stopped.stdout + stopped.stderr) == (1, True), stopped
    subprocess.run(["git", "rm", "-q", "--cached", "src/softmax.cu"], cwd=project, check=True)
    assert shell(words, project, commands).returncode == 0


def test_the_workflow_calls_commands_that_tell_of_the_fault(project: Path) -> None:
    lines = [line.partition("- run: ")[2] for line in recipes()["workflow"].splitlines()]
    (sarif,) = (shlex.split(line.partition(" > ")[0])[1:] for line in lines if line.startswith("harness "))
    told = called(ROOT, *sarif, cwd=project)
    assert (told.returncode, '"ruleId": "double_free"' in told.stdout) == (1, True)
    told = called(ROOT, "cuda", "check", "src/softmax.cu", "--annotations", "github", cwd=project)
    assert (told.returncode, ANNOTATION in told.stdout) == (1, True)


def test_each_program_is_given_no_document_of_one(project: Path) -> None:
    for format in ("--json", "--sarif", "--format=json"):
        refused = called(ROOT, "cuda", "check", "--each", "src/softmax.cu", format, cwd=project)
        assert refused.returncode == 2 and "--each" in refused.stderr
