"""feint reproduce: pieces are run once, half-written ones never count, and a killed run ends with the same numbers."""

import json
import random
import shutil
import signal
import subprocess
import sys

import pytest

from cases import HANGS
from feint.experiments import TITLES, figure5, lemma2
from feint.experiments.contract import load_experiment
from feint.experiments.report import write_report
from feint.experiments.reproduce import MANIFEST, reproduce
from feint.support.figure_style import new_figure

QUICK_PIECES = ["figure5", "lemma2", "figure4", "figure3"]


def refuse(*arguments):
    raise AssertionError("a finished piece was run again")


def test_writes_everything_and_runs_nothing_twice(tmp_path, monkeypatch):
    out = tmp_path / "run"
    claims = reproduce(["lemma2", "figure5"], out, size="quick")
    assert list(claims) == ["figure5", "lemma2"]
    for name in ("figure5", "lemma2"):
        assert (out / "data" / f"{name}.zarr").is_dir()
        for suffix in ("pdf", "png"):
            assert (out / "figures" / f"{name}.{suffix}").stat().st_size > 4_000
    stored = json.loads((out / "claims.json").read_text())
    assert stored["claims"]["figure5"] == [claim.to_json() for claim in claims["figure5"]]
    report = (out / "report.html").read_text()
    assert report.count("data:image/png;base64,") == 2
    assert "http://" not in report
    assert "https://" not in report
    places = [report.index(f"<h1>{title}") for title in ("The paper&#x27;s figures", "Beyond the paper&#x27;s figures")]
    assert places[0] < report.index("<h2>Figure 5") < places[1] < report.index("<h2>Lemma 2")
    assert "Made by `feint reproduce figure5 lemma2 --quick`" in (out / "claims.md").read_text(encoding="utf-8")
    for module in (figure5, lemma2):
        monkeypatch.setattr(module, "run", refuse)
    again = reproduce(["lemma2", "figure5"], out, size="quick")
    assert again == claims
    # A figure is drawn again from its data.
    (out / "figures" / "figure5.png").unlink()
    reproduce(["figure5"], out, size="quick")
    assert (out / "figures" / "figure5.png").exists()


def test_help_lists_every_name():
    shown = subprocess.run([sys.executable, "-m", "feint", "reproduce", "--help"], capture_output=True, text=True)
    assert [name for name in TITLES if f" {name} " not in shown.stdout] == []
    assert "paper or all" in shown.stdout


def test_a_full_run_says_so_and_is_not_a_quick_one(tmp_path):
    """Its page has the command that makes it, with its seed; both sizes at once are refused."""
    out = tmp_path / "run"
    reproduce(["figure5"], out, seed=26, size="full")
    assert "Made by `feint reproduce figure5 --full --seed 26`" in (out / "claims.md").read_text(encoding="utf-8")
    assert "A full run" in (out / "report.html").read_text()
    refused = subprocess.run(
        [sys.executable, "-m", "feint", "reproduce", "figure5", "--quick", "--full", "--out", str(tmp_path / "both")],
        capture_output=True,
        text=True,
    )
    assert refused.returncode == 2
    assert "either --quick or --full" in refused.stderr
    assert not (tmp_path / "both").exists()


def test_titles_in_the_report_have_subscripts(tmp_path):
    (tmp_path / "figures").mkdir()
    new_figure(1, 1).savefig(tmp_path / "figures" / "figure4.png")
    write_report(tmp_path, {"figure4": []}, seed=0, size="quick")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("convergence of Γ(w<sub>t</sub>) to Γ*</") == 2  # in the contents and above the figure
    assert "alt='Figure 4: convergence of Γ(w_t) to Γ*'" in page


def test_half_written_pieces_do_not_count(tmp_path):
    out = tmp_path / "run"
    whole = reproduce(["lemma2"], out, size="quick")
    left = out / "data" / ".feint-unfinished-0123456789abcdef" / "lemma2.zarr"  # as a killed writer leaves it
    left.parent.mkdir()
    shutil.move(out / "data" / "lemma2.zarr", left)
    shutil.rmtree(left / "ratio")
    assert reproduce(["lemma2"], out, size="quick") == whole
    assert not list((out / "data").glob(".*"))


def test_other_settings_and_foreign_folders_are_refused(tmp_path, monkeypatch):
    out = tmp_path / "run"
    reproduce(["figure5"], out, size="quick")
    with pytest.raises(ValueError, match="choose another `out`"):
        reproduce(["figure5"], out, size="quick", seed=1)
    for size in ("usual", "full"):
        with pytest.raises(ValueError, match="choose another `out`"):
            reproduce(["figure5"], out, size=size)
    with monkeypatch.context() as patch:
        patch.setitem(load_experiment("figure5").SETTINGS, "points", 100)
        with pytest.raises(ValueError, match="choose another `out`"):
            reproduce(["figure5"], out, size="quick")
    reproduce(["figure5"], out, size="quick", seed=1, force=True)
    assert json.loads((out / MANIFEST).read_text())["seed"] == 1
    foreign = tmp_path / "home"
    foreign.mkdir()
    (foreign / "thesis.tex").write_text("precious")
    with pytest.raises(ValueError, match="not a folder of feint reproduce"):
        reproduce(["figure5"], foreign, size="quick")
    assert (foreign / "thesis.tex").read_text() == "precious"
    with pytest.raises(ValueError, match="choose among"):
        reproduce(["nonsense"], tmp_path / "none")
    assert not (tmp_path / "none").exists()


def command(out):
    return [sys.executable, "-m", "feint", "reproduce", *QUICK_PIECES, "--quick", "--out", str(out), "--seed", "7"]


@pytest.mark.slow
@pytest.mark.parametrize("with_signal", [signal.SIGKILL, signal.SIGINT])
def test_killed_at_random_moments_it_ends_with_the_same_numbers(with_signal, tmp_path):
    straight, broken = tmp_path / "straight", tmp_path / "broken"
    subprocess.run(command(straight), check=True, capture_output=True)
    moments = random.Random(int(with_signal))
    for _ in range(6):
        process = subprocess.Popen(command(broken), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=moments.uniform(0.2, 2.5))
        except subprocess.TimeoutExpired:
            process.send_signal(with_signal)
            process.wait(timeout=HANGS)
    subprocess.run(command(broken), check=True, capture_output=True)
    assert (broken / "claims.json").read_bytes() == (straight / "claims.json").read_bytes()
    for name in QUICK_PIECES:
        for suffix in ("pdf", "png"):
            figure = f"figures/{name}.{suffix}"
            assert (broken / figure).read_bytes() == (straight / figure).read_bytes()
    assert (broken / "report.html").read_bytes() == (straight / "report.html").read_bytes()


def find_browser():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.skipif(find_browser() is None, reason="page tests left out: no Chromium on this machine")
def test_report_renders_in_a_browser(tmp_path):
    """The page in headless Chromium: every figure has its pixels, nothing overflows a phone, nothing is logged."""
    out = tmp_path / "run"
    reproduce(["figure5", "lemma2"], out, size="quick")
    (out / "probe.html").write_text(
        "<iframe id='page' src='report.html' style='width:390px;height:800px'></iframe><pre id='result'>waiting</pre>"
        "<script>document.getElementById('page').onload = function () {"
        " const page = this.contentDocument; const images = [...page.images];"
        " document.getElementById('result').textContent = JSON.stringify({"
        " images: images.length, loaded: images.filter(i => i.complete && i.naturalWidth > 300).length,"
        " rows: page.querySelectorAll('tr').length, wide: page.documentElement.scrollWidth,"
        " title: page.title}); };</script>"
    )
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    flags += [
        "--disable-component-update",
        "--disable-sync",
        "--allow-file-access-from-files",
        "--enable-logging=stderr",
    ]
    flags += [f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=5000", "--dump-dom"]
    result = subprocess.run(
        [find_browser(), *flags, (out / "probe.html").as_uri()],
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=True,
    )
    found = json.loads(result.stdout.split('<pre id="result">')[1].split("</pre>")[0])
    assert found["images"] == found["loaded"] == 2
    assert found["rows"] >= 6
    assert found["wide"] <= 390
    assert "reproduced" in found["title"]
    assert "CONSOLE" not in result.stderr
