"""The two dashboards, built with Grafana's SDK from the table in `dashboards.yaml`.

Source: https://grafana.github.io/grafana-foundation-sdk/
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_TABLE = Path(__file__).with_name("dashboards.yaml")
_HALF, _STAT_HEIGHT, _HEIGHT = 12, 4, 8
_DATASOURCE = "${datasource}"
_VARIABLES = {
    "tenant": {
        "tenant": ("Tenant", "label_values(flux_tenancy:tenant:info, tenant)", False),
        "namespace": ("Namespace", 'label_values(flux_tenancy:namespace:info{tenant="$tenant"}, namespace)', True),
    }
}
"""By dashboard, its variables: label, query, and whether it selects several values."""


def dashboards() -> dict[str, str]:
    """The dashboards as JSON, by name."""
    from grafana_foundation_sdk.cog.encoder import JSONEncoder

    table = yaml.safe_load(_TABLE.read_text(encoding="utf-8"))
    encoder = JSONEncoder(sort_keys=True, indent=1)
    return {name: encoder.encode(_dashboard(name, each)) + "\n" for name, each in table.items()}


def _dashboard(name: str, table: dict[str, Any]) -> Any:
    from grafana_foundation_sdk.builders.dashboard import Dashboard, DatasourceVariable, QueryVariable
    from grafana_foundation_sdk.models.dashboard import DataSourceRef, VariableRefresh

    source = DataSourceRef(type_val="prometheus", uid=_DATASOURCE)
    built = Dashboard(table["title"]).uid(f"flux-tenancy-{name}").tags(["flux", "flux-tenancy"])
    built = built.time("now-6h", "now").refresh("1m").readonly()
    built = built.with_variable(DatasourceVariable("datasource").label("Data source").type("prometheus"))
    for variable, (label, query, several) in _VARIABLES.get(name, {}).items():
        chosen = QueryVariable(variable).label(label).query(query).datasource(source)
        chosen = chosen.refresh(VariableRefresh.ON_TIME_RANGE_CHANGED).multi(several).include_all(several)
        built = built.with_variable(chosen)
    for panel in table["panels"]:
        built = built.with_panel(_panel(panel, source))
    return built.build()


def _panel(table: dict[str, Any], source: Any) -> Any:
    from grafana_foundation_sdk.builders import stat, timeseries
    from grafana_foundation_sdk.builders import table as tables
    from grafana_foundation_sdk.builders.prometheus import Dataquery
    from grafana_foundation_sdk.models.prometheus import PromQueryFormat

    kind = table["kind"]
    builder: Any = {"stat": stat, "table": tables, "timeseries": timeseries}[kind].Panel()
    builder = builder.title(table["title"]).unit(table.get("unit", "none")).datasource(source)
    builder = builder.span(table.get("width", _HALF)).height(_STAT_HEIGHT if kind == "stat" else _HEIGHT)
    for number, (legend, expr) in enumerate(table["queries"].items()):
        query = Dataquery().expr(expr).legend_format(legend).ref_id(chr(ord("A") + number)).datasource(source)
        if kind != "timeseries":
            query = query.instant()
        if kind == "table":
            query = query.format(PromQueryFormat.TABLE)
        builder = builder.with_target(query)
    return builder
