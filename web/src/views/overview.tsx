// The first page: how much there is, how fresh it is, what is wrong.
import { useData } from "../api";
import { inventoryQuery } from "../filters";
import { count, duration, isStale, number, qualified, serverNow } from "../format";
import { href, usePlace } from "../router";
import type { ClusterState, FreshPlace, InventoryPlace, Listing, Meta, Overview, Problem } from "../types";
import { Ago, Empty, ErrorNotice, Loading, Notice, PageHead, Words } from "../ui";
import { explain } from "../words";

const kEvery = 15_000;

function Figure({ value, label, to }: { value: number | null | undefined; label: string; to: string }) {
  if (value === null || value === undefined) return null;
  return (
    <a class="figure" href={to}>
      <span class="figure-value">{number(value)}</span>
      <span class="figure-label">{label}</span>
    </a>
  );
}

const kPages: [RegExp, string][] = [
  [/Sink$/, "sinks"], [/Inventory$/, "inventories"], [/Target$/, "targets"], [/Profile$/, "profiles"], [/Scope$/, "scopes"],
];

export const pageOfKind = (kind: string) => kPages.find(([pattern]) => pattern.test(kind))?.[1] ?? "targets";

function ProblemLine({ problem }: { problem: Problem }) {
  const words = explain(problem.kind, problem.type, problem.type === "Degraded" ? "True" : "False", problem.reason);
  return (
    <li class="problem">
      <div class="problem-head">
        <a href={href(pageOfKind(problem.kind), { open: `${problem.kind}/${problem.namespace}/${problem.name}` })}>
          <span class="muted">{problem.kind.replace(/^Kollect/, "")}</span> <strong>{qualified(problem.namespace, problem.name)}</strong>
        </a>
        <span class="reason">{problem.reason}</span>
        {problem.since && <span class="muted"><Ago at={problem.since} /></span>}
      </div>
      {words && <p><Words text={words.means} />{words.todo && <> <b>Do:</b> <Words text={words.todo} /></>}</p>}
      {problem.message && <p class="said">{problem.message}</p>}
    </li>
  );
}

function Problems({ overview, meta }: { overview: Overview; meta: Meta | undefined }) {
  if (meta && !meta.abilities.objects) return null;
  return (
    <section class="card" aria-label="Problems">
      <h2>Problems {overview.problemCount > 0 && <span class="muted">{number(overview.problemCount)}</span>}</h2>
      {overview.problems.length === 0
        ? <p class="fine">Nothing is degraded.</p>
        : <ul class="problems">{overview.problems.map((one, index) => <ProblemLine key={index} problem={one} />)}</ul>}
      {overview.problemCount > overview.problems.length && (
        <p class="muted">The worst {overview.problems.length} are shown. <a href={href("targets", { show: "problems" })}>See targets</a> or <a href={href("inventories", { show: "problems" })}>inventories</a>.</p>
      )}
    </section>
  );
}

function StaleNotice({ place }: { place: FreshPlace | null }) {
  if (!place || !isStale(place.exportedAt)) return null;
  const name = qualified(place.namespace, place.name);
  return (
    <Notice tone="warning" title={`Old data: ${name}${place.cluster ? ` of ${place.cluster}` : ""} was last exported ${duration(serverNow() - Date.parse(place.exportedAt))} ago`}>
      <p>Its rows may be out of date. See whether the operator (or the job that runs <code>kollect collect</code>) runs there and reaches this store.</p>
    </Notice>
  );
}

const inventoryLink = (one: { cluster: string; namespace: string; name: string }) =>
  href("inventory", { cluster: one.cluster, ...inventoryQuery(one.namespace, one.name) });

function Clusters({ clusters }: { clusters: ClusterState[] }) {
  return (
    <section class="card" aria-label="Clusters">
      <h2>Clusters <span class="muted">{number(clusters.length)}</span></h2>
      <div class="scroll-box" tabIndex={0} role="region" aria-label="Table of clusters">
        <table class="plain">
          <thead><tr><th scope="col">Cluster</th><th scope="col" class="numeric">Inventories</th><th scope="col" class="numeric">Rows</th><th scope="col">Newest export</th><th scope="col">Oldest export</th></tr></thead>
          <tbody>
            {clusters.map((one) => (
              <tr key={one.cluster}>
                <td><a href={href("inventory", { cluster: one.cluster })}>{one.cluster || "(this cluster)"}</a></td>
                <td class="numeric">{number(one.inventories)}</td>
                <td class="numeric">{number(one.rows)}</td>
                <td><Ago at={one.exportedAt} warn /></td>
                <td><Ago at={one.oldestExportedAt} warn /></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Inventories({ inventories }: { inventories: InventoryPlace[] }) {
  const largest = [...inventories].sort((a, b) => b.rows - a.rows);
  const clusters = inventories.some((one) => one.cluster);
  return (
    <section class="card" aria-label="Inventories">
      <h2>Inventories <span class="muted">{number(inventories.length)}</span></h2>
      <div class="scroll-box" tabIndex={0} role="region" aria-label="Table of inventories">
        <table class="plain">
          <thead><tr>{clusters && <th scope="col">Cluster</th>}<th scope="col">Inventory</th><th scope="col" class="numeric">Rows</th><th scope="col">Exported</th></tr></thead>
          <tbody>
            {largest.slice(0, 200).map((one) => (
              <tr key={`${one.cluster}/${one.namespace}/${one.name}`}>
                {clusters && <td>{one.cluster}</td>}
                <td><a href={inventoryLink(one)}>{qualified(one.namespace, one.name)}</a></td>
                <td class="numeric">{number(one.rows)}</td>
                <td><Ago at={one.exportedAt} warn /></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {largest.length > 200 && <p class="muted">The largest 200 are shown; <a href={href("inventories")}>all are here</a>.</p>}
    </section>
  );
}

export function OverviewView({ meta }: { meta: Meta | undefined }) {
  const { query } = usePlace();
  const namespace = query.namespace; // for who may see only one
  const overview = useData<Overview>("/v1alpha1/overview", { namespace }, kEvery);
  const clusters = useData<Listing<ClusterState>>(namespace ? null : "/v1alpha1/clusters", {}, kEvery);
  const inventories = useData<Listing<InventoryPlace>>("/v1alpha1/inventories", { namespace }, kEvery);
  const error = overview.error ?? clusters.error ?? inventories.error;
  const data = overview.data;
  return (
    <div class="page">
      <PageHead title={namespace ? `Overview of ${namespace}` : "Overview"}>
        {data?.freshest && <span class="muted">Last export <Ago at={data.freshest.exportedAt} warn /></span>}
      </PageHead>
      {error && error.status !== 401 && <ErrorNotice error={error} retry={() => { overview.reload(); clusters.reload(); inventories.reload(); }} />}
      {!data && overview.loading && <Loading what="the overview" />}
      {data && (
        <>
          <StaleNotice place={data.stalest} />
          <div class="figures">
            <Figure value={data.rows} label={data.rows === 1 ? "row" : "rows"} to={href("inventory")} />
            <Figure value={data.clusters} label={data.clusters === 1 ? "cluster" : "clusters"} to={href("inventory", { by: "cluster" })} />
            <Figure value={data.inventories} label={data.inventories === 1 ? "inventory" : "inventories"} to={href("inventories")} />
            <Figure value={data.targets} label={data.targets === 1 ? "target" : "targets"} to={href("targets")} />
            <Figure value={data.sinks} label={data.sinks === 1 ? "sink" : "sinks"} to={href("sinks")} />
          </div>
          <Problems overview={data} meta={meta} />
          {data.rows === 0 && data.problemCount === 0 && (
            <Empty title="Nothing has been collected yet">{count(data.inventories, "inventory", "inventories")}, no rows. As soon as a target has been collected its rows are here.</Empty>
          )}
        </>
      )}
      <div class="cards">
        {clusters.data && clusters.data.items.length > 0 && <Clusters clusters={clusters.data.items} />}
        {inventories.data && inventories.data.items.length > 0 && <Inventories inventories={inventories.data.items} />}
      </div>
    </div>
  );
}
