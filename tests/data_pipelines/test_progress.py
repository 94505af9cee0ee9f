from data_pipelines.support import progress as progress_module
from data_pipelines.support.progress import progress


def test_without_a_terminal_progress_is_plain_lines_with_rate_and_remaining_time(capsys, monkeypatch):
    monkeypatch.setattr(progress_module, "SECONDS_BETWEEN_LINES", 0.0)
    with progress("downloading x", 4_000_000, done=1_000_000) as reporter:
        reporter.update(1_000_000)
    line = capsys.readouterr().err
    assert line.startswith("downloading x: 2.0 MB, ")
    assert "MB/s, 50% of 4.0 MB, " in line
    assert line.endswith(" s left\n")


def test_a_short_task_prints_nothing(capsys):
    with progress("reading x", None) as reporter:
        reporter.update(10)
    assert capsys.readouterr().err == ""
