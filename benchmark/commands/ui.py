"""Start the MLflow UI and open it on the overview, or on the chart of an experiment.

The overview has one line per experiment. The chart of an experiment has one
point per setting, the mean over its seeds: reward against communication.

Examples:
  fedbandit ui                      the overview
  fedbandit ui fig_e                the chart of this experiment
  fedbandit ui fig_e --port 5050    on this port, or the next free one
  fedbandit ui fig_e --no-browser   only print the URL
  fedbandit ui --host 0.0.0.0       also for other machines (no password: they
                                    can change and delete runs)

By default, only this machine can reach the UI, and requests for other hosts
are rejected. Press Ctrl-C to stop the server.

Environment:
  MLFLOW_TRACKING_URI    a database or the URL of an MLflow server (default:
                         sqlite:///mlflow.db in the working directory). The UI
                         of a server is opened there; none is started here.
"""

import argparse
import os
import sys
import tempfile
import webbrowser
from pathlib import Path

from benchmark.extras import require
from data_pipelines.support.secrets import without_user

ORDER = 8


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "experiment", nargs="?", metavar="EXPERIMENT", help="experiment to open (default: the overview)"
    )
    parser.add_argument("--port", type=int, default=5000, help="the first port to try (default: 5000)")
    parser.add_argument("--host", default="127.0.0.1", help="address of this machine to listen on (default: 127.0.0.1)")
    parser.add_argument("--no-browser", action="store_true", help="only print the URL")


def run(arguments: argparse.Namespace) -> int:
    """Print and open the URL of the chart view, and serve it until Ctrl-C."""
    if not 1 <= arguments.port <= 65_535:
        raise ValueError(f"--port must be an integer from 1 to 65535, got {arguments.port}")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    from benchmark.records.tracking import as_store_error, tracking_uri
    from benchmark.ui.server import check_host

    check_host(arguments.host)
    try:
        browse = not arguments.no_browser and sys.stdout.isatty()
        return _open(arguments.experiment, arguments.host, arguments.port, browse=browse)
    except (ValueError, OSError):
        raise
    except Exception as error:  # MLflow or database error, or missing driver
        raise as_store_error(tracking_uri(), error) from error


def _open(name: str | None, host: str, port: int, *, browse: bool) -> int:
    from benchmark.records.sqlite import refresh_statistics
    from benchmark.records.tracking import sqlite_file, tracking_uri
    from benchmark.ui import server as ui

    def show(address: str) -> None:
        link = ui.landing_link(experiment, address)
        print(link, flush=True)
        if browse:
            webbrowser.open(link)

    store = tracking_uri()
    if not ui.is_server(store):
        require("mlflow", extra="ui", purpose="fedbandit ui")
    ui.find_experiment(store, name)  # a wrong name is refused before anything is written
    ui.prepare_pages(store)
    experiment = ui.find_experiment(store, name)
    if ui.is_server(store):
        show(without_user(store))
        return 0
    if (file := sqlite_file(store)) is not None:
        refresh_statistics(file)
    if not ui.is_loopback(host):
        print(ui.WARNING.format(host=host), file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="fedbandit-ui-") as folder:
        try:
            with ui.running_server(store, ui.free_port(port, host), Path(folder) / "server.log", host) as server:
                show(server.address)
                print("Press Ctrl-C to stop the server.", flush=True)
                server.wait()
        except KeyboardInterrupt:
            print("\nServer stopped.")
    return 0
