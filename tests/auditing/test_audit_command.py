"""Test `feint audit` as users type it, and what it says about broken files."""

import json
import re
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from feint.cli import app
from shell import typed

INSTANCE = ["--public", "0.6,0.3,0,0.2", "--private", "0.2,0.5,0.1,0", "--horizon", "1500", "--replications", "2"]


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Return an honest and a deceptive log that `feint run --log` wrote."""
    folder = tmp_path_factory.mktemp("logs")
    paths = []
    for name, epsilon in (("honest.csv", "0"), ("deceptive.parquet", "0.1")):
        result = CliRunner().invoke(app, ["run", *INSTANCE, "--epsilon", epsilon, "--log", str(folder / name)])
        assert result.exit_code == 0, result.output
        paths.append(folder / name)
    return paths


def test_exit_codes_and_words(logs):
    command = [sys.executable, "-m", "feint", "audit"]
    honest, deceptive = (subprocess.run([*command, path], capture_output=True, text=True) for path in logs)
    assert (honest.returncode, deceptive.returncode) == (0, 1)
    assert "no evidence against the claim" in honest.stdout
    assert re.search(r"rejected at row \d+ of 1,500", deceptive.stdout)
    for result in (honest, deceptive):
        assert result.stderr == ""
        assert "compliant" not in result.stdout.lower()
        for word in ("e-value", "anytime p-value", "most likely boosted", "smallest π", "observed − expected"):
            assert word in result.stdout


def test_json_has_the_schema(logs):
    result = typed("audit", str(logs[1]), "--json", "--arms", "4")
    assert result.returncode == 1
    found = json.loads(result.stdout)
    assert found["feint_audit"] == 2
    assert found["rejected"] is True
    assert found["verdict"] == f"rejected at row {found['rejected_at']}"
    assert found["warnings"] == []
    assert set(found) == {
        "feint_audit", "feint", "verdict", "severity", "rejected", "rejected_at", "mode", "claim", "n_arms", "rows",
        "tested", "alpha", "log_e_value", "highest_log_e_value", "p_value", "log_e_values", "arms", "boosted_arm",
        "boosted_epsilon", "impossible", "groups", "n_groups", "n_named", "cause", "diagnosis",
        "smallest_log_probability", "smallest_row", "bad_rows", "bad_examples", "warnings",
        "history", "repeated", "changed", "shards",
    }  # fmt: skip
    assert set(found["arms"][0]) == {"arm", "label", "observed", "expected", "excess", "low", "high", "allowed"}


def test_plot_is_drawn_and_kept(logs, tmp_path):
    plot = tmp_path / "audit.pdf"
    assert typed("audit", str(logs[0]), "--plot", str(plot)).returncode == 0
    assert plot.read_bytes().startswith(b"%PDF")
    again = typed("audit", str(logs[0]), "--plot", str(plot))
    assert again.returncode == 2
    assert "--force" in again.stderr
    assert typed("audit", str(logs[0]), "--plot", str(plot), "--force").returncode == 0


def test_beta_and_priors(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("arm,reward\n" + "0,1\n1,0\n0,1\n0,0\n1,1\n" * 4)
    assert "Beta(2, 3)" in typed("audit", str(path), "--reference", "beta", "--prior", "2,3").stdout
    assert "N(0.5, 2²)" in typed("audit", str(path), "--prior", "0.5,2").stdout
    assert "--reference beta" in typed("audit", str(path)).stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["missing.csv"], "There is no file missing.csv"),
        (["log.csv", "--alpha", "2"], "strictly between 0 and 1"),
        (["log.csv", "--sigma", "0"], "sigma"),
        (["log.csv", "--reference", "ucb"], "UCB does not draw its arms"),
        (["log.csv", "--prior", "1"], "two numbers"),
        (["log.csv", "--prior", "a,b"], "give two numbers"),
        (["log.csv", "--prior", "0,-1"], "does not fit sigma"),
        (["log.csv", "--mode", "magic"], "choose among probabilities"),
        (["log.csv", "--mode", "propensities"], "no column propensity"),
        (["log.csv", "--arm", "choice"], "no column 'choice'"),
        (["log.csv", "--time", "clock"], "no column 'clock'"),
        (["log.csv", "--delimiter", "ab"], "single character"),
        (["log.csv", "--arms", "1"], "from 2 to"),
        (["log.csv", "--tolerance", "7"], "tolerance"),
        (["log.csv", "--plot", "x.doc"], "must end in"),
        (["unpulled.csv"], "No row could be tested: arm 0 was never pulled"),
        (["bad.csv"], "bad.csv: line 3: arm is 'x', not the arm's number from 0, so the number of arms is unclear"),
        (
            ["bad.csv", "--arms", "2"],
            "bad.csv: line 3: arm is 'x', not the arm's number from 0; line 5: reward is missing. Correct the log",
        ),
        (["log.csv", "--skip-bad"], "give --arms"),
        (["log.csv", "--prefix", "Q_"], "correct --prefix"),
        (["log.csv", "--propensity", "chance"], "correct --propensity"),
        (["log.csv", "--prior", "0,1e-160"], "does not fit sigma"),
        (["log.csv", "--plot", "folder.png", "--force"], "is a folder"),
    ],
)
def test_wrong_input_ends_with_one_clear_line(arguments, says, tmp_path):
    (tmp_path / "log.csv").write_text("arm,reward\n0,1\n1,0\n0,1\n")
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "folder.png" / "precious.txt").touch()
    (tmp_path / "unpulled.csv").write_text("arm,reward\n1,1\n2,0\n1,1\n")
    (tmp_path / "bad.csv").write_text("arm,reward\n0,1\nx,0\n0,1\n1,\n")
    result = typed("audit", *arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert says in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stdout == ""
    assert (tmp_path / "folder.png" / "precious.txt").exists()


def test_a_mistake_of_ours_is_no_verdict(tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise KeyError("p_0")

    monkeypatch.setattr("feint.auditing.pipeline.audit_source", fail)
    result = typed("audit", tmp_path / "log.csv")
    assert result.returncode == 3
    assert result.stderr.startswith("feint: internal error, KeyError: 'p_0'; please report it")


def test_options_that_do_not_apply_are_named(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("time,arm,reward,p_00,p_01\n1,0,1,0.5,0.5\n1,1,0,0.5,0.5\n")
    assert "Rows with the same time as the row before: 1." in typed("audit", str(path)).stdout.replace("\n", " ")
    result = typed("audit", str(path), "--reference", "beta", "--ignore-time", "--plot", str(tmp_path / "[bold].PNG"))
    assert result.returncode == 0
    assert "are not used: the log has probabilities of its" in result.stdout.replace("\n", " ")
    assert "[bold].PNG" in result.stdout


def test_an_interrupt_is_no_verdict(tmp_path, monkeypatch):
    (tmp_path / "log.csv").write_text("arm,reward\n0,1\n1,0\n")

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("feint.auditing.pipeline.audit_source", interrupt)
    result = typed("audit", tmp_path / "log.csv")
    assert result.returncode == 130
    assert "interrupted" in result.stderr


LINES = [f"{t},{a},{r},0.5,0.25,0.25" for t, a, r in [(1, 0, 0.5), (2, 1, 1), (3, 2, 0), (4, 0, 1e-3), (5, 1, -2.5)]]
HEADER = "time,arm,reward,p_0,p_1,p_2"
CELLS = [
    "",
    "x",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "-1",
    "0.5",
    "99999999999999999999",
    "٣",
    "1_0",
    "0x1",
    "\x00",
    "é",
    " ",
]


@st.composite
def broken_files(draw):
    """Draw a good log with some damage: cells replaced; lines repeated, swapped, cut or emptied; bytes changed."""
    lines = [HEADER, *(LINES * draw(st.integers(0, 3)))]
    for _ in range(draw(st.integers(0, 4))):
        i = draw(st.integers(0, len(lines) - 1))
        damage = draw(st.sampled_from(["cell", "repeat", "cut", "empty", "more", "quote", "swap"]))
        if damage == "cell":
            cells = lines[i].split(",")
            cells[draw(st.integers(0, len(cells) - 1))] = draw(st.sampled_from(CELLS))
            lines[i] = ",".join(cells)
        elif damage == "repeat":
            lines.insert(i, lines[i])
        elif damage == "cut":
            lines[i] = lines[i][: draw(st.integers(0, len(lines[i])))]
        elif damage == "empty":
            lines.insert(i, "")
        elif damage == "more":
            lines[i] += ",7"
        elif damage == "quote":
            lines[i] = lines[i].replace(",", ',"', 1)
        else:
            j = draw(st.integers(0, len(lines) - 1))
            lines[i], lines[j] = lines[j], lines[i]
    content = "\n".join(lines).encode() + b"\n"
    if draw(st.booleans()):
        for _ in range(draw(st.integers(0, 3))):
            at = draw(st.integers(0, len(content) - 1))
            content = content[:at] + draw(st.binary(max_size=4)) + content[at + draw(st.integers(0, 3)) :]
            content = content or b"\n"
    return content


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=broken_files(), mode=st.sampled_from([None, "rewards"]), skip=st.booleans())
def test_broken_files_never_end_in_a_traceback(content, mode, skip, tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(content)
    options = [*(["--mode", mode] if mode else []), *(["--skip-bad", "--arms", "3"] if skip else []), "--json"]
    if mode is None and skip:
        options = ["--skip-bad", "--json"]
    result = typed("audit", path, *options)
    code, out, errors = result.returncode, result.stdout, result.stderr
    assert code in (0, 1, 2)
    if code == 2:
        assert errors.startswith("feint: ")
        assert len(errors.strip().splitlines()) == 1
        return
    found = json.loads(out)
    bad = sum(found["bad_rows"].values())
    assert skip or bad == 0
    # Every line is a row that was tested, one that waits for a posterior, or a bad one; a bad row that covers several
    # lines names the last of them.
    lines = re.split(rb"\r\n|\n|\r", content.rstrip(b"\r\n"))
    swallowed = sum(
        int(end) - int(start)
        for text in found["bad_examples"]
        for start, end in re.findall(r"^line (\d+): a quoted text goes on to line (\d+)", text)
    )
    if len(found["bad_examples"]) == bad:
        assert found["rows"] + swallowed == len(lines) - 1
    assert found["tested"] <= found["rows"] - bad
    if found["mode"] == "probabilities":
        assert found["tested"] == found["rows"] - bad


@pytest.fixture(scope="module")
def whole_parquet(tmp_path_factory):
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path_factory.mktemp("parquet") / "log.parquet"
    rows = [line.split(",") for line in LINES]
    columns = {name: [float(row[i]) for row in rows] for i, name in enumerate(HEADER.split(","))}
    parquet.write_table(pa.table(columns), path, compression="none")
    return path.read_bytes()


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_broken_parquet_never_ends_in_a_traceback(data, whole_parquet, tmp_path):
    content = bytearray(whole_parquet)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "log.parquet"
    path.write_bytes(bytes(content))
    result = typed("audit", path, "--skip-bad", "--json")
    code, out, errors = result.returncode, result.stdout, result.stderr
    assert code in (0, 1, 2)
    if code == 2:
        assert errors.startswith(f"feint: {path}")
        assert len(errors.strip().splitlines()) == 1
    else:
        found = json.loads(out)
        assert found["tested"] == found["rows"] - sum(found["bad_rows"].values())


def test_labels_are_no_markup(tmp_path):
    """Rich would take [/] for the end of a style, and fail."""
    log = tmp_path / "log.csv"
    log.write_text("arm,user,p_[/],p_[red]\n" + "[/],[b],0.5,0.5\n[red],[/b],0.5,0.5\n" * 3)
    result = typed("audit", str(log), "--group", "user")
    assert result.returncode == 0, result.stderr
    for label in ("[/]", "[red]", "[b]", "[/b]"):
        assert label in result.stdout


@pytest.mark.parametrize("how", [[], ["--json"], ["--follow", "--until-end"]])
def test_a_closed_pipe_does_not_change_the_exit_code(how, logs):
    for path, code in zip(logs, (0, 1), strict=True):
        if "--follow" in how and path.suffix == ".parquet":
            continue
        command = [sys.executable, "-m", "feint", "audit", str(path), "--arms", "4", *how]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == code
