"""A release each month.

A retry is safe: it publishes the same bytes and spends nothing. It is tried only where
the last line of the program says that it helps; every other failure wants a person.
"""

import json
import subprocess
from datetime import datetime, timedelta

from airflow.decorators import dag, task
from airflow.exceptions import AirflowFailException


@dag(schedule="0 3 2 * *", start_date=datetime(2026, 1, 1), catchup=False, max_active_runs=1)
def dprelease_monthly():
    @task(retries=3, retry_delay=timedelta(minutes=5))
    def release(data_interval_start=None):
        month = data_interval_start.strftime("%Y-%m")
        done = subprocess.run(
            ["dprelease", "run", "--json", "--set", f"month={month}", "/etc/dprelease/monthly.yaml"],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return
        lines = done.stdout.splitlines()
        last = json.loads(lines[-1]) if lines else {}
        failed = f"dprelease: {last.get('code', done.returncode)}"
        if done.returncode != 75:
            raise AirflowFailException(failed)
        raise RuntimeError(failed)

    release()


dprelease_monthly()
