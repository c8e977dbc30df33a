"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const main = document.querySelector("main");
const ORDER = ["unknown", "failed", "absent", "reconciling", "frozen", "suspended", "leaving", "ready"];
const WORDS = { passed: "passed", unproven: "unproven", refused: "refused", notApplicable: "n/a" };
const LAYERS = ["role", "pod-security", "admission", "quota", "flux", "controllers", "network"];

// Templates: text is set as text and never as markup; attributes are those that a template names.
const look = (scope, path) => path.split(".").reduce((found, key) => found?.[key], scope);
const present = (value) => (Array.isArray(value) ? value.length > 0 : Boolean(value));
function fill(node, scope) {
  const { each, text, set, code } = node.dataset;
  if (node.dataset.if && !present(look(scope, node.dataset.if))) return node.remove();
  if (each) {
    for (const entry of look(scope, each) ?? []) {
      const copy = node.cloneNode(true);
      delete copy.dataset.each;
      node.before(copy);
      fill(copy, { ...scope, ...entry });
    }
    return node.remove();
  }
  for (const pair of set?.split(" ") ?? []) {
    const [name, key] = pair.split("="), value = look(scope, key);
    if (value !== undefined && value !== "" && value !== false) node.setAttribute(name, value);
  }
  if (text) node.textContent = look(scope, text) ?? "";
  else if (code) node.replaceChildren(...look(scope, code).split("`").map((part, at) => (at % 2 ? element("code", part) : part)));
  else [...node.children].forEach((child) => fill(child, scope));
}
function element(tag, text) {
  return Object.assign(document.createElement(tag), { textContent: text });
}
function show(id, scope) {
  main.replaceChildren(document.getElementById(id).content.cloneNode(true));
  [...main.children].forEach((child) => fill(child, scope));
  document.querySelectorAll("header nav a").forEach((link) => {
    link.toggleAttribute("aria-current", link.hash.startsWith("#/isolation") === (id === "isolation"));
  });
  main.querySelectorAll(".sortable").forEach(sortable);
  main.querySelectorAll("[data-reveal]").forEach((button) => {
    button.addEventListener("click", () => {
      main.querySelectorAll(`.${button.dataset.reveal}`).forEach((part) => (part.hidden = false));
      button.remove();
    });
  });
  filterable();
}

function sortable(table) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const key = (row, at) => row.cells[at].dataset.sort ?? row.cells[at].textContent;
  const sort = (at, sign) => {
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[at].setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    const order = (one, two) => sign * key(one, at).localeCompare(key(two, at), "en", { numeric: true });
    body.append(...[...body.rows].sort(order));
  };
  heads.forEach((head, at) => {
    const button = Object.assign(element("button", head.textContent), { type: "button" });
    head.replaceChildren(button);
    button.addEventListener("click", () => sort(at, head.ariaSort === "ascending" ? -1 : 1));
  });
  sort(heads.findIndex((head) => head.ariaSort), 1);
}

function filterable() {
  const rows = [...main.querySelectorAll("[data-row]")], inputs = [...main.querySelectorAll("select[data-filter], input[data-filter]")];
  const buttons = [...main.querySelectorAll("button[data-filter]")];
  const apply = () => {
    const pressed = buttons.filter((each) => each.ariaPressed === "true");
    const wanted = [...inputs, ...pressed].map((each) => [each.dataset.filter, each.dataset.value ?? each.value]);
    const matches = (row, [key, value]) =>
      !value || (key === "text" ? row.textContent.toLowerCase().includes(value.toLowerCase()) : row.dataset[key] === value);
    rows.forEach((row) => (row.hidden = !wanted.every((each) => matches(row, each))));
    main.querySelectorAll(".threat:has([data-row])").forEach((threat) => {
      threat.hidden = !threat.querySelector("[data-row]:not([hidden])");
      threat.open = wanted.some(([, value]) => value) && !threat.hidden;
    });
    const none = main.querySelector("#none");
    if (none) none.hidden = rows.some((row) => !row.hidden);
  };
  inputs.forEach((each) => each.addEventListener("input", apply));
  buttons.forEach((button) =>
    button.addEventListener("click", () => {
      const group = buttons.filter((each) => each.dataset.filter === button.dataset.filter);
      group.forEach((each) => each.setAttribute("aria-pressed", each === button));
      apply();
    }),
  );
}
// The first button of a filter selects all.
function choices(key, all, values, label) {
  const found = values.map((value) => ({ key, value, label: label(value), count: all.filter((each) => each === value).length, pressed: "false" }));
  return [{ key, value: "", label: "all", count: all.length, pressed: "true" }, ...found.filter((each) => each.count)];
}

const short = (revision) => revision?.replace(/(sha(1|256):[0-9a-f]{7})[0-9a-f]+/, "$1") || "–";
const readable = (time, seconds) => time?.replace("T", " ").replace(/(:\d\d)(\.\d+)?(Z|\+00:00)$/, seconds ? "$1 UTC" : " UTC");
function ago(time) {
  const minutes = (Date.parse(data.made) - Date.parse(time)) / 60000;
  if (!(minutes >= 0)) return "–";
  const [unit, length] = [["d", 1440], ["h", 60], ["min", 1]].find(([, length]) => minutes >= 2 * length) ?? ["min", 1];
  return `${Math.floor(minutes / length)} ${unit} ago`;
}
const link = (...parts) => `#/${parts.map(encodeURIComponent).join("/")}`;
const resource = (name) => (name.startsWith("count/") ? name.slice(6).split(".")[0] : name);

function reported(tenant) {
  const report = data.isolation?.reports.find((each) => each.tenant === tenant);
  if (!report) return {};
  const of = (verdict) => report.attempts.filter((each) => each.verdict === verdict).length;
  const found = of("passed") + report.controls.filter((each) => each.verdict === "refused").length + (report.inventory?.length ?? 0);
  const text = [found && `${found} ${found > 1 ? "problems" : "problem"}`, of("unproven") && `${of("unproven")} unproven`].filter(Boolean).join(", ");
  return {
    openText: text || "all refused",
    openClass: found ? "bad" : of("unproven") ? "open" : "good",
    openRank: String(99999 - found * 100 - of("unproven")),
    attempts: report.attempts.length,
    isolationLink: link("isolation", tenant),
  };
}
function described(tenant) {
  const quota = tenant.quotas[0];
  const policy = [...tenant.syncs, ...tenant.releases].find((each) => each.refusedBy)?.refusedBy;
  return {
    ...tenant,
    ...reported(tenant.tenant),
    isolation: data.isolation && reported(tenant.tenant).openText,
    link: link("tenant", tenant.stack, tenant.tenant),
    rank: String(ORDER.indexOf(tenant.state)),
    commit: short(tenant.revision),
    changedText: readable(tenant.changed),
    ago: ago(tenant.changed),
    percent: quota ? String(quota.percent) : "",
    fullest: quota && resource(quota.resource),
    fullestTitle: quota && `${quota.used} of ${quota.hard} in ${quota.namespace}`,
    count: tenant.violations ?? "–",
    budgetKnown: tenant.budget !== null,
    budgetText: tenant.budget === null ? "–" : `${Math.round(tenant.budget * 100)} %`,
    // The order of text knows no sign, so all ranks are positive; an unknown budget is last.
    budgetRank: String(tenant.budget === null ? 9e15 : Math.round(1e12 + tenant.budget * 1000)),
    // The message names the policy where the column has no more room.
    advice: (tenant.state === "failed" && policy && `Refused by ${policy}: ${tenant.message}`) || tenant.message || tenant.next[0]?.replaceAll("`", "") || "",
  };
}
const tenants = data.stacks.flatMap((stack) => stack.tenants ?? []);

function overview() {
  if (!data.stacks.length) return isolation();
  const several = data.stacks.length > 1, budgets = tenants.some((each) => each.budget !== null);
  show("overview", {
    several,
    budgets,
    isolation: data.isolation,
    unknown: data.stacks.filter((each) => each.error),
    notes: data.stacks.filter((each) => each.violationsError),
    names: data.stacks.map((each) => ({ name: each.stack })),
    states: choices("state", tenants.map((each) => each.state), ORDER, (state) => state),
    tenants: tenants.map((each) => ({ ...described(each), several, budgets, isolation: data.isolation })),
  });
}

function tenant(stack, name) {
  const found = tenants.find((each) => each.stack === stack && each.tenant === name);
  if (!found) return overview();
  const VERBS = { ready: ["Fetched", "Applied", "Deployed"], failed: ["Not fetched", "Not applied", "Not deployed"] };
  const way = [found.sources, found.syncs, found.releases].flatMap((objects, at) =>
    objects.map((each) => ({
      ...each,
      commit: short(each.revision),
      sinceText: readable(each.since, true),
      verb: VERBS[each.state]?.[at] ?? each.state[0].toUpperCase() + each.state.slice(1),
    })),
  );
  const quotas = found.quotas.map((each) => ({ ...each, label: resource(each.resource) }));
  const matters = quotas.filter((each, at) => each.percent && at < 6), rest = quotas.slice(matters.length);
  const said = found.error || found.message;
  show("tenant", {
    ...described(found),
    said,
    next: found.next.map((step) => ({ step })),
    advises: said || found.next.length,
    noteClass: `note ${["failed", "unknown"].includes(found.state) ? "bad" : "open"}`,
    newest: short(found.sources[0]?.revision || found.revision),
    way,
    nothing: !way.length,
    clean: found.violations === 0,
    unasked: found.violations === null,
    unlimited: !quotas.length,
    groups: [{ kind: "matters", quotas: matters }, { kind: "rest", hidden: "hidden", quotas: rest }],
    rest: rest.length,
    nobody: !found.people.length,
    places: found.namespaces.map((name) => ({ name })),
  });
}

function isolation(name) {
  const reports = data.isolation?.reports ?? [];
  const report = reports.find((each) => each.tenant === name) ?? reports[0];
  if (!report) return show("nothing", {});
  const all = report.attempts.map((each) => ({
    ...each,
    layer: each.verdict === "refused" ? each.layer : "",
    word: WORDS[each.verdict],
    threatName: data.isolation.threats[each.threat],
  }));
  const of = (...verdicts) => verdicts.flatMap((verdict) => all.filter((each) => each.verdict === verdict));
  const controls = report.controls.map((each) => ({
    ...each,
    state: each.verdict === "refused" ? "passed" : each.verdict === "passed" ? "refused" : each.verdict,
    word: each.verdict === "passed" ? "allowed" : each.verdict,
  }));
  const broken = controls.filter((each) => each.verdict === "refused").map((each) => ({ ...each, verdict: "passed", threatName: "A legitimate request" }));
  const differs = (report.inventory ?? []).map((each) => ({
    verdict: "passed", word: "differs", name: `${each.object} ${each.what}`, threatName: each.namespace,
    message: `found: ${each.found}; intended: ${each.intended}`, remedy: `${each.remedy} (${each.code})`,
  }));
  const found = of("passed").length + broken.length + differs.length, unproven = of("unproven").length;
  const threats = Object.values(Object.groupBy(all, (each) => each.threat)).map((attempts) => ({
    name: attempts[0].threatName,
    attempts,
    counts: [
      ...choices("state", attempts.filter((each) => each.verdict !== "refused").map((each) => each.verdict), Object.keys(WORDS), (verdict) => WORDS[verdict]).slice(1),
      ...choices("layer", attempts.map((each) => each.layer), LAYERS, (layer) => layer).slice(1),
    ],
  }));
  show("isolation", {
    ...report,
    reports: reports.map((each) => ({
      tenant: each.tenant, link: link("isolation", each.tenant), class: `chip ${each.safe ? "" : "bad"}`, current: each === report && "page",
    })),
    how: `${report.live ? "dry runs and live objects" : "dry runs"}${report.without.length ? `, without ${report.without.join(", ")}` : ""}`,
    madeText: readable(report.madeAt),
    verdictClass: `note ${found ? "bad" : unproven ? "open" : "good"}`,
    verdictText: `${all.length} attempts: ${of("passed").length} passed, ${unproven} unproven, ${of("refused").length} refused, ${of("notApplicable").length} not applicable.`,
    inventoryText: report.inventory ? `Not as intended: ${differs.length}.` : "Nothing says what is intended: add --stack or --profile.",
    open: [...of("passed"), ...broken, ...differs, ...of("unproven")],
    verdicts: choices("state", all.map((each) => each.verdict), Object.keys(WORDS), (verdict) => WORDS[verdict]),
    layers: choices("layer", of("refused").map((each) => each.layer), LAYERS, (layer) => layer),
    several: reports.length > 1,
    threats,
    controls,
    controlText: `${controls.length}, ${broken.length} refused`,
    notAsked: data.isolation.notAsked.map((each) => ({ ...each, name: data.isolation.threats[each.threat] })),
  });
}

function route() {
  const [page, ...parts] = location.hash.slice(2).split("/").map(decodeURIComponent);
  ({ tenant, isolation }[page] ?? overview)(...parts);
  const head = main.querySelector("h1");
  document.title = `${(head.firstElementChild ?? head).textContent} · flux-tenancy`;
  scrollTo(0, 0);
}
document.getElementById("made").textContent = readable(data.made);
document.getElementById("to-tenants").hidden = !data.stacks.length;
document.getElementById("to-isolation").hidden = !data.isolation;
addEventListener("hashchange", route);
route();
