"""Audit: drop a log, see what was recognised, choose the claim, get the verdict and files to keep."""

import io
import json
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape as escape_markup
from pathlib import Path
from typing import Any

import panel as pn

from feint.agent.public_log import write_log
from feint.app.background import in_background
from feint.app.claims import CLAIMS, NUMBERS
from feint.app.logs import SAMPLES, ReadyLog
from feint.app.messages import MessageLine, in_words_of_the_page, number_of
from feint.auditing import AuditReport, Claim
from feint.auditing.columns import choose_columns
from feint.auditing.command_line import WrittenClaim, read_words
from feint.auditing.html_report import page
from feint.auditing.pipeline import audit_source
from feint.auditing.readers import open_log
from feint.registry import USUAL_REFERENCE
from feint.support.errors import is_users
from feint.support.html import escape, shell_words

MOST_MEGABYTES = 20
_SECONDS = 60
_MOST_ARMS = 1_000


class Audit:
    """The audit of one log at a time, which is kept in a directory of the visitor's own until the visitor leaves."""

    def __init__(self) -> None:
        self._line, self._verdict = MessageLine(), MessageLine()
        self._directory = tempfile.mkdtemp(prefix="feint-")
        # The directory is also removed when the server ends, since its last visitors do not leave by themselves.
        self.close = weakref.finalize(self, shutil.rmtree, self._directory, ignore_errors=True)
        self._log: Path | None = None
        self._report: AuditReport | None = None
        stretch = {"sizing_mode": "stretch_width", "margin": 4}
        self.drop = pn.widgets.FileDropper(
            max_file_size=f"{MOST_MEGABYTES}MB", chunk_size=1_000_000, multiple=False, sizing_mode="stretch_width",
            css_classes=["drop"], height=90, margin=4,
        )  # fmt: skip
        self.claim = pn.widgets.Select(label="What is claimed", options=list(CLAIMS), css_classes=["claim"], **stretch)
        self.number = pn.widgets.TextInput(label=NUMBERS["sigma"], value="1", css_classes=["number"], **stretch)
        self.alpha = pn.widgets.TextInput(label="Level α", value="0.05", css_classes=["alpha"], **stretch)
        self.arm = pn.widgets.Select(label="Column of arms", options=["arm"], css_classes=["arm"], **stretch)
        self.reward = pn.widgets.Select(
            label="Column of rewards", options=["reward"], css_classes=["reward"], **stretch
        )
        self.arms = pn.widgets.TextInput(
            label="Arms: a number or labels",
            placeholder="from the log",
            css_classes=["arms-known"],
            **stretch,
        )
        self.more = pn.widgets.TextInput(
            label="Other options, as in a shell",
            placeholder="--family bernoulli --prior 1,1 --batch 100 --unit user",
            css_classes=["more"],
            **stretch,
        )
        self.context = pn.widgets.TextInput(
            label="Columns of the context, with commas", css_classes=["context"], visible=False, **stretch
        )
        self.skip_bad = pn.widgets.Checkbox(label="Leave bad rows out", css_classes=["skip-bad"], **stretch)
        self.ask = pn.widgets.Button(label="Audit it", color="primary", width=100, margin=4, disabled=True)
        self._seen, self._command, self._found = (pn.pane.HTML("", **stretch) for _ in range(3))
        self._downloads = pn.FlexBox(
            self._download("page", "audit.html", self._page), self._download("JSON", "audit.json", self._json),
            sizing_mode="stretch_width", visible=False,
        )  # fmt: skip
        self.drop.param.watch(self._dropped, "value")
        self.claim.param.watch(self._chosen, "value")
        for widget in (
            self.number, self.alpha, self.arm, self.reward, self.arms, self.context, self.more, self.skip_bad,
        ):  # fmt: skip
            widget.param.watch(lambda event: self._outdated(), "value")
        self.ask.on_click(self._audit)
        if pn.state.curdoc is not None:
            pn.state.on_session_destroyed(lambda context: self.close())
        groups = {
            "2 1 230px": (self.claim, self.number, self.context),  # claims have long names
            "1 1 200px": (self.arm, self.reward),
            "1.2 1 210px": (self.arms, self.alpha),
        }
        fields = [
            pn.Column(*group, sizing_mode="stretch_width", styles={"flex": flex, "min-width": "0"})
            for flex, group in groups.items()
        ]
        samples = [
            pn.widgets.Button(label=name, sizing_mode="fixed", width=200, height=34, margin=4) for name in SAMPLES
        ]
        for button in samples:
            button.on_click(lambda event: in_background(SAMPLES[event.obj.label], self.take, self._line))
        self.view = pn.Column(
            pn.pane.HTML("<p>No log at hand? Try a sample:</p>", sizing_mode="stretch_width", margin=(0, 4)),
            pn.FlexBox(*samples, sizing_mode="stretch_width"), self.drop, self._line.view, self._seen,
            pn.FlexBox(*fields, sizing_mode="stretch_width"), self.more,
            self.skip_bad, self.ask, self._verdict.view, self._command, self._downloads, self._found,
            sizing_mode="stretch_width",
        )  # fmt: skip
        kinds = "CSV, TSV, Parquet, Feather, SQLite, JSON lines or dsjson, also compressed"
        self._line.say(f"Drop a log: {kinds}, up to {MOST_MEGABYTES} MB. It stays on this machine.")

    def _dropped(self, event: Any) -> None:
        self._outdated()
        self._log, self.ask.disabled, self._seen.object = None, True, ""
        if not event.new:
            return
        with self._line.wrong():
            name, content = list(event.new.items())[-1]
            data = content.encode() if isinstance(content, str) else content
            if len(data) > MOST_MEGABYTES * 1_000_000:
                raise ValueError(
                    f"The log has more than {MOST_MEGABYTES} MB; use feint audit in a shell, which has no limit."
                )
            # Only the last part of a name, so that no file elsewhere can be meant.
            path = Path(self._directory) / (Path(name.replace("\\", "/")).name or "log")
            path.write_bytes(data)
            self._open(path)
            self._line.say(f"{path.name}, {len(data):,} bytes: choose what is claimed, and audit it.")

    def take(self, log: ReadyLog) -> None:
        """Audit a log that is ready, without a dropped file."""
        self.drop.value = {}
        path = Path(self._directory) / log.name
        with self._line.wrong():
            write_log(log.table, path)
            self._open(path)
            self.claim.value, self.arms.value = log.claim, str(log.arms)
            self.number.value = log.number
            self.context.value = self.more.value = ""
            self._line.say(f"{path.name}, {len(log.table['arm']):,} rows; the claim is filled in below. {log.note}")
            self._audit(None)

    def _open(self, path: Path) -> None:
        with self._without_directory():
            self._recognise(path)
        self._log, self.ask.disabled = path, False

    def _recognise(self, path: Path) -> None:
        """Show what the columns allow."""
        log = open_log(path)
        columns = [str(column) for column in log.columns]
        if not all(column.isprintable() for column in columns):
            raise ValueError(f"{log.name} does not begin with names of columns; drop a table with an arm and a reward.")
        for widget, usual in ((self.arm, "arm"), (self.reward, "reward")):
            widget.options = columns if usual in columns else [usual, *columns]
            widget.value = usual
        shown = ", ".join(columns[:12]) + (", …" if len(columns) > 12 else "")
        try:
            chosen = choose_columns(columns, Claim())
            found = f"the strongest claim is about its {chosen.mode}, from {', '.join(chosen.used()[:8])}."
        except ValueError as error:
            found = in_words_of_the_page(str(error))
            if "arm" in columns:
                found = "arms alone, enough for a split; for other claims, name the column of rewards."
        self._seen.object = f"<p>Recognised: columns {escape(shown)}; {escape(found)}</p>"

    def _chosen(self, event: Any) -> None:
        choice = CLAIMS[event.new]
        self.number.visible = choice.number is not None
        self.context.visible = choice.has_context
        if choice.number is not None:
            self.number.param.update(label=NUMBERS[choice.number], value=choice.usual)
        self._outdated()

    def _outdated(self) -> None:
        self._report = None
        self._downloads.visible = False
        self._command.object = self._found.object = ""
        self._verdict.say("")

    def asked(self) -> WrittenClaim:
        """Return the claim that the fields describe."""
        choice, number = CLAIMS[self.claim.value], self.number.value.strip()
        if choice.number is not None and number == "":
            raise ValueError(f"{NUMBERS[choice.number]} is empty; give a value such as {choice.usual}.")
        if choice.has_context and not self.context.value.strip():
            raise ValueError("“Columns of the context” is empty; give their names, such as age,clicks.")
        arms = self.arms.value.strip()
        if arms.isdecimal():
            number_of(arms, "The number of arms", int, 2, _MOST_ARMS)
        reference = f"{choice.reference}:{number}" if choice.number == "reference" else choice.reference
        fields = {
            "mode": choice.mode,
            "reference": reference,
            "sigma": number if choice.number == "sigma" and number != "1" else None,
            "split": number if choice.number == "split" else None,
            "context": self.context.value.strip() if choice.has_context else None,
            "arm": self.arm.value,
            "reward": self.reward.value,
            "arms": arms or None,
            "alpha": number_of(self.alpha.value, "α", float, 1e-9, 0.5),
            "skip_bad": self.skip_bad.value,
        }
        more = read_words(self.more.value)
        if more.keys() & {"reference", "split"}:  # then the list and its number do not say what is claimed
            fields |= {"reference": USUAL_REFERENCE, "sigma": None, "split": None}
        return WrittenClaim(**(fields | more))

    def _audit(self, event: Any) -> None:
        log = self._log
        if log is None or self.ask.loading:
            return
        self._outdated()
        with self._verdict.wrong():
            asked = self.asked()
            self._verdict.say("Auditing …")

            def work() -> AuditReport:
                with self._without_directory():
                    report = audit_source(log, asked.claim(), progress=_limited())
                    if report.tested == 0:
                        raise ValueError(f"{log.name}: {' '.join(report.warnings)}")
                    return report

            def show(report: AuditReport) -> None:
                if log is self._log and asked == self.asked():
                    self._tell(report, log.name, asked.command(log.name))
                else:
                    self._verdict.say("The settings have changed since: audit it again.")

            def end() -> None:
                self.ask.loading = False

            self.ask.loading = True
            in_background(work, show, self._verdict, end)

    def _tell(self, report: AuditReport, name: str, command: str) -> None:
        self._report, self._text = report, page(report, name, command)
        self._verdict.say(str(report), "bad" if report.rejected else "good")
        why = "" if report.diagnosis is None else f"<p>Diagnosis: {escape(report.diagnosis.words)}</p>"
        self._command.object = f"{why}<p>The same in a shell:</p><pre class='command'>{shell_words(command)}</pre>"
        # The page itself, in a frame that may run no scripts, so that its style and this page's stay apart. "Same
        # origin" lets its height be read from outside, again whenever the window gets another width.
        self._found.object = (
            f"<iframe title='The audit' sandbox='allow-same-origin' srcdoc='{escape_markup(self._text)}' "
            'onload="const content = this.contentDocument.body; new ResizeObserver(() => '
            '{ this.style.height = content.offsetHeight + 4 + `px`; }).observe(content)"></iframe>'
        )
        self._downloads.visible = True

    def _download(self, label: str, name: str, content: Callable[[], str]) -> Any:
        return pn.widgets.FileDownload(
            callback=lambda: io.BytesIO(content().encode()), filename=name, label=f"Download the {label}", width=160,
            margin=4, embed=False, auto=True,
        )  # fmt: skip

    def _page(self) -> str:
        return self._text

    def _json(self) -> str:
        assert self._report is not None
        return json.dumps(self._report.to_json(), allow_nan=False) + "\n"

    @contextmanager
    def _without_directory(self) -> Iterator[None]:
        """Make errors name the log as the visitor does, not by where it was put."""
        try:
            yield
        except (ValueError, OSError) as error:
            if not is_users(error):
                raise
            raise ValueError(str(error).replace(f"{self._directory}/", "")) from None


def _limited() -> Any:
    """Return a progress callback that ends an audit that takes too long: a small file can unpack to a large one."""
    end = time.monotonic() + _SECONDS

    def tick(done: int) -> None:
        if time.monotonic() > end:
            raise ValueError(f"This takes more than {_SECONDS} s; use feint audit in a shell, which has no limit.")

    return lambda what, total: tick
