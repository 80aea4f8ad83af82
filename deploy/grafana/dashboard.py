#!/usr/bin/env python3
# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
"""Writes the Grafana dashboard: dashboard.py [FILE]

FILE is tenure.json beside this script. It needs grafana-foundation-sdk from PyPI: scripts/setup --monitoring installs it
into .venv. `PANELS` is also what the test executes against a running Prometheus.
"""
import sys
from pathlib import Path
from typing import NamedTuple

SELECT = '{job=~"$job", store=~"$store"}'
NAMED = '{job=~"$job", store=~"$store", name=~"$name"}'


class Query(NamedTuple):
    expression: str
    legend: str


class Panel(NamedTuple):
    row: str
    title: str
    # a unit of Grafana: s, short, reqps, percentunit
    unit: str
    description: str
    queries: list


def quantiles(metric, select, by):
    """The median and the 99th percentile."""
    return [
        Query(
            f"histogram_quantile({quantile}, sum by ({by}, le) (rate({metric}_bucket{select}[$__rate_interval])))",
            f"{{{{{by}}}}} {label}",
        )
        for quantile, label in ((0.5, "p50"), (0.99, "p99"))
    ]


PANELS = [
    Panel("Slots and leaders", "Free slots", "short", "Slots of each pool that are free, as the exporter sees them.",
          [Query(f'sum by (name) (tenure_slots{NAMED[:-1]}, kind="pool", state="free"}})', "{{name}}")]),
    Panel("Slots and leaders", "Slots by state", "short", "Free, held, in quarantine, detached.",
          [Query(f'sum by (state) (tenure_slots{NAMED[:-1]}, kind="pool"}})', "{{state}}")]),
    Panel("Slots and leaders", "Store answers", "short", "1: the store has answered the exporter's last scrape.",
          [Query(f"min by (store) (tenure_store_up{SELECT})", "{{store}}")]),
    Panel("Slots and leaders", "Leaders", "short", "1: a program leads the election.",
          [Query(f'sum by (name) (tenure_slots{NAMED[:-1]}, kind="election", state="held"}})', "{{name}}")]),
    Panel("Slots and leaders", "Held for", "s", "How long the present holders have held their locks and slots.",
          [Query(f"time() - tenure_slot_held_since_timestamp_seconds{NAMED}", "{{name}}{{slot}}")]),
    Panel("Slots and leaders", "Time left unless renewed", "s", "How long the store keeps a slot of a holder that died.",
          [Query(f"tenure_slot_remaining_seconds{NAMED}", "{{name}}{{slot}}")]),
    Panel("Leases of the programs", "Held and waiting", "short", "Leases held, and acquisitions under way.",
          [Query(f"sum by (name) (tenure_leases_held{NAMED})", "{{name}} held"),
           Query(f"sum by (name) (tenure_acquisitions_waiting{NAMED})", "{{name}} waiting")]),
    Panel("Leases of the programs", "Acquisitions", "reqps", "By outcome.",
          [Query(f"sum by (outcome) (rate(tenure_acquisitions_total{NAMED}[$__rate_interval]))", "{{outcome}}")]),
    Panel("Leases of the programs", "Losses", "short", "Leases lost in the last 5 minutes, by reason.",
          [Query(f"sum by (reason) (increase(tenure_leases_lost_total{NAMED}[5m]))", "{{reason}}")]),
    Panel("Leases of the programs", "Wait", "s", "From the call to the grant.",
          quantiles("tenure_acquisition_wait_seconds", NAMED, "name")),
    Panel("Leases of the programs", "Hold", "s", "From the grant to the end of the lease.",
          quantiles("tenure_lease_hold_seconds", NAMED, "name")),
    Panel("Leases of the programs", "Hand-over", "s", "From a release to the grant of the next one in line.",
          quantiles("tenure_hand_over_seconds", NAMED, "name")),
    Panel("Leases of the programs", "Renewal margin", "percentunit",
          "What was left when renewals came, the worst 5 %, as a part of the ttl.",
          [Query(f"histogram_quantile(0.05, sum by (name, le) (rate(tenure_renewal_margin_seconds_bucket{NAMED}[$__rate_interval])))"
                 f" / on (name) max by (name) (tenure_lease_ttl_seconds{NAMED})", "{{name}}")]),
    Panel("The store", "Requests", "reqps", "By kind.",
          [Query(f"sum by (request) (rate(tenure_store_requests_total{SELECT}[$__rate_interval]))", "{{request}}")]),
    Panel("The store", "Requests without effect", "reqps", "Declined: another owner. The others are trouble.",
          [Query(f'sum by (outcome) (rate(tenure_store_requests_total{SELECT[:-1]}, outcome!="done"}}[$__rate_interval]))',
                 "{{outcome}}")]),
    Panel("The store", "Round trip", "s", "Time to the answer.",
          quantiles("tenure_store_request_seconds", SELECT, "request")),
]  # fmt: skip


def dashboard():
    from grafana_foundation_sdk.builders.common import VizLegendOptions
    from grafana_foundation_sdk.builders.dashboard import Dashboard, DatasourceVariable, QueryVariable, Row
    from grafana_foundation_sdk.builders.prometheus import Dataquery
    from grafana_foundation_sdk.builders.timeseries import Panel as TimeSeries
    from grafana_foundation_sdk.models.common import LegendDisplayMode, LegendPlacement
    from grafana_foundation_sdk.models.dashboard import DataSourceRef, VariableRefresh

    source = DataSourceRef(type_val="prometheus", uid="$datasource")
    built = (
        Dashboard("tenure")
        .uid("tenure")
        .tags(["tenure", "locks"])
        .refresh("30s")
        .time("now-1h", "now")
        .timezone("browser")
        .with_variable(DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
    )
    for name in ("job", "store", "name"):
        # also those that only the exporter knows
        query = f'label_values({{__name__=~"tenure_leases_held|tenure_slots"}}, {name})'
        built = built.with_variable(
            QueryVariable(name)
            .query(query)
            .datasource(source)
            .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
            .multi(True)
            .include_all(True)
            .all_value(".*")
        )
    row = None
    number = 0
    for panel in PANELS:
        if panel.row != row:
            row = panel.row
            number += 1
            built = built.with_row(Row(row).id(number))
        number += 1
        made = (
            TimeSeries()
            .id(number)
            .title(panel.title)
            .description(panel.description)
            .unit(panel.unit)
            .datasource(source)
            .min(0)
            .span(8)
            .height(7)
            .legend(
                VizLegendOptions()
                .show_legend(True)
                .display_mode(LegendDisplayMode.LIST)
                .placement(LegendPlacement.BOTTOM)
            )
        )
        for index, query in enumerate(panel.queries):
            made = made.with_target(
                Dataquery().expr(query.expression).legend_format(query.legend).ref_id(chr(ord("A") + index))
            )
        built = built.with_panel(made)
    return built.build()


def text():
    from grafana_foundation_sdk.cog.encoder import JSONEncoder

    return JSONEncoder(sort_keys=True, indent=2).encode(dashboard()) + "\n"


def main():
    to = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("tenure.json")
    to.write_text(text())


if __name__ == "__main__":
    main()
