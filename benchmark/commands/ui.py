"""Open MLflow's pages on an experiment: a chart of all its runs, reward against communication.

Examples:
  fedbandit ui                      the experiment of the latest run
  fedbandit ui fig_e                one of them
  fedbandit ui fig_e --port 5050    on that port, or the next one that is free
  fedbandit ui fig_e --no-browser   only print the address
  fedbandit ui --host 0.0.0.0       for other machines too: without a password, see the warning

The pages are for this machine alone, unless --host says otherwise, and requests meant for other hosts are refused.
Ctrl-C ends it.
Environment: MLFLOW_TRACKING_URI (a database, or a team's server: then nothing is started and its address is opened;
otherwise `sqlite:///mlflow.db` in the working directory).
"""

import argparse
import os
import sys
import tempfile
import webbrowser
from pathlib import Path

from benchmark.ui_hosts import WARNING, check_host, is_loopback
from data_pipelines.secrets import without_user


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("experiment", nargs="?", metavar="EXPERIMENT", help="which one (default: of the latest run)")
    parser.add_argument("--port", type=int, default=5000, help="the first port to try (default: 5000)")
    parser.add_argument("--host", default="127.0.0.1", help="an address of this machine (default: 127.0.0.1)")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")


def run(arguments: argparse.Namespace) -> int:
    """Print and open the address of the chart view, and serve it until Ctrl-C."""
    if not 1 <= arguments.port <= 65_535:
        raise ValueError(f"--port is {arguments.port}; allowed are integers from 1 to 65535")
    check_host(arguments.host)
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    from benchmark.tracking import as_store_error, tracking_uri

    try:
        browse = not arguments.no_browser and sys.stdout.isatty()
        return _open(arguments.experiment, arguments.host, arguments.port, browse=browse)
    except (ValueError, OSError):
        raise
    except Exception as error:  # of MLflow, of a database, or that its driver is not installed
        raise as_store_error(tracking_uri(), error) from error


def _open(name: str | None, host: str, port: int, *, browse: bool) -> int:
    from benchmark.query_plans import refresh_statistics
    from benchmark.tracking import tracking_uri
    from benchmark.ui import find_experiment, free_port, is_server, landing_link, running_server

    store = tracking_uri()
    experiment = find_experiment(store, name)
    if is_server(store):
        _show(landing_link(store, experiment, without_user(store)), browse=browse)
        return 0
    refresh_statistics(store)
    if not is_loopback(host):
        print(WARNING.format(host=host), file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="fedbandit-ui-") as folder:
        try:
            with running_server(store, free_port(port, host), Path(folder) / "server.log", host) as server:
                _show(landing_link(store, experiment, server.address), browse=browse)
                print("Ctrl-C ends it.", flush=True)
                server.wait()
        except KeyboardInterrupt:
            print("\nThe pages are closed.")
    return 0


def _show(link: str, *, browse: bool) -> None:
    print(link, flush=True)
    if browse:
        webbrowser.open(link)
