// Parts of the fleet view: one cluster, versions by component, rollouts with how far they are.
import { useData } from "../api";
import { type CatalogEntry, type DriftIndex, type Finding, type FleetCluster, type Rollout, type Spread, findingWords, progressOf, wantedVersion } from "../fleet";
import { ago, count, moment, number, qualified } from "../format";
import { href } from "../router";
import { Ago, Drawer, Empty, Facts } from "../ui";

function findingText(finding: Finding): string {
  const what = findingWords(finding.finding);
  if (finding.finding === "differs") return `${what}: ${finding.field} is ${finding.observed}, should be ${finding.expected}`;
  return finding.message ? `${what}: ${finding.message}` : what;
}

export function FindingMark({ finding }: { finding: Finding }) {
  return <span class="finding-mark" title={findingText(finding)}>{finding.finding.replace("_", " ")}</span>;
}

function Findings({ findings }: { findings: Finding[] }) {
  if (findings.length === 0) return <p class="fine">It is as it should be.</p>;
  return (
    <ul class="findings">
      {findings.map((one, index) => (
        <li key={index}>
          <div class="row-line">
            <span class="finding-mark">{one.finding.replace("_", " ")}</span>
            {one.since && <span class="muted">since <time title={ago(one.since)}>{moment(one.since)}</time></span>}
          </div>
          <strong>{one.object ? `${one.object.kind ?? ""} ${qualified(one.object.namespace ?? "", one.object.name)}` : one.id ?? "the cluster"}</strong>
          <p>{findingText(one)}</p>
        </li>
      ))}
    </ul>
  );
}

export function ClusterDrawer({ cluster, catalog, findings, onClose }: {
  cluster: FleetCluster;
  catalog: Map<string, CatalogEntry>;
  findings: Finding[];
  onClose: () => void;
}) {
  return (
    <Drawer title={cluster.id} subtitle={`${cluster.cluster_name}, ${cluster.environment}`} onClose={onClose}>
      <h3>Drift</h3>
      <Findings findings={findings} />
      <Facts
        facts={[
          ["DNS name", cluster.cluster_dns],
          ["Nodes", cluster.node_count],
          ["k0s", cluster.k0s_version],
          ["Image", cluster.vm_image],
          ["Namespaces", cluster.namespaces.map((one) => one.id).join(", ")],
          ["Role bindings", cluster.rolebindings.map((one) => one.id).join(", ")],
        ]}
      />
      <h3>Components</h3>
      <table class="plain">
        <thead><tr><th scope="col">Component</th><th scope="col">Version</th><th scope="col">From</th><th scope="col" class="numeric">Patches</th></tr></thead>
        <tbody>
          {cluster.platform_components.map((one) => (
            <tr key={one.id}>
              <td>{one.id}</td>
              <td>{one.enabled ? wantedVersion(one, catalog.get(one.id)) : <span class="muted">off</span>}</td>
              <td>{one.oci_tag || one.component_path ? "this cluster" : "catalog"}</td>
              <td class="numeric">{Object.keys(cluster.patches[one.id] ?? {}).length || ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p><a class="button" href={href("inventory", { cluster: cluster.id })}>See its rows</a></p>
    </Drawer>
  );
}

function Bar({ parts, label }: { parts: [string, number][]; label: string }) {
  const total = parts.reduce((sum, [, n]) => sum + n, 0) || 1;
  return (
    <span class="bar" role="img" aria-label={label}>
      {parts.map(([kind, n], index) => n > 0 && <span key={index} class={`bar-part bar-${kind}`} style={{ width: `${(n / total) * 100}%` }} />)}
    </span>
  );
}

export function Spreads({ spreads, catalog, drifting }: { spreads: Spread[]; catalog: Map<string, CatalogEntry>; drifting: boolean }) {
  if (spreads.length === 0) return <Empty title="The catalog is empty">Add a component with kollect fleet component create.</Empty>;
  return (
    <div class="scroll-page" tabIndex={0} role="region" aria-label="Versions by component">
      <table class="plain spreads">
        <thead>
          <tr>
            <th scope="col">Component</th><th scope="col">Catalog</th><th scope="col" class="numeric">Clusters</th>
            <th scope="col">Versions</th>{drifting && <th scope="col" class="numeric">Drifting</th>}<th scope="col" class="numeric">Off</th>
          </tr>
        </thead>
        <tbody>
          {spreads.map((one) => {
            const entry = catalog.get(one.id);
            return (
              <tr key={one.id}>
                <th scope="row">{one.id}</th>
                <td>{entry ? wantedVersion({ id: one.id, enabled: true }, entry) : <span class="error-text">not in the catalog</span>}</td>
                <td class="numeric">{number(one.total)}</td>
                <td class="versions-cell">
                  {one.total > 0 && <Bar parts={one.versions.map(([, n], index) => [String(index % 5), n])} label={one.versions.map(([version, n]) => `${version}: ${n}`).join(", ")} />}
                  <span class="legend">{one.versions.map(([version, n], index) => <span key={version}><i class={`swatch bar-${index % 5}`} aria-hidden="true" />{version} <span class="muted">{number(n)}</span></span>)}</span>
                </td>
                {drifting && <td class="numeric">{one.drifting > 0 ? <strong class="error-text">{number(one.drifting)}</strong> : 0}</td>}
                <td class="numeric">{one.disabled > 0 && number(one.disabled)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function RolloutLine({ rollout, clusters, drift, seen }: { rollout: Rollout; clusters: FleetCluster[]; drift: DriftIndex; seen: boolean }) {
  const full = useData<Rollout>(`/fleet/rollouts/${encodeURIComponent(rollout.id)}`);
  const progress = full.data && progressOf(full.data, clusters, drift);
  const counts = [[rollout.created, "created"], [rollout.changed, "changed"], [rollout.deleted, "deleted"]].filter(([n]) => n).map(([n, word]) => `${n} ${word}`).join(", ");
  return (
    <li class="rollout">
      <div class="row-line">
        <strong>{rollout.kind ?? "batch"}</strong>
        <span>{rollout.note}</span>
        <span class="spring" />
        <span class="muted"><Ago at={rollout.at} /> by {rollout.by}</span>
      </div>
      <p class="muted">{counts || "nothing changed"}{rollout.reaches ? `, reaches ${count(rollout.reaches.clusters, "cluster")}` : ""}{rollout.undone_by ? `, undone by ${rollout.undone_by}` : ""} <code>{rollout.id}</code></p>
      {seen && progress && progress.clusters.length > 0 && (
        <>
          <Bar
            parts={[["done", progress.done.length], ["waiting", progress.waiting.length], ["unseen", progress.unseen.length]]}
            label={`${progress.done.length} of ${progress.clusters.length} clusters have followed`}
          />
          <p>
            {number(progress.done.length)} of {count(progress.clusters.length, "cluster")} {progress.clusters.length === 1 ? "has" : "have"} followed
            {progress.waiting.length > 0 && <>, <a href={href("fleet", { show: "drift" })}>waiting for {progress.waiting.slice(0, 5).join(", ")}{progress.waiting.length > 5 && ` and ${progress.waiting.length - 5} more`}</a></>}
            {progress.unseen.length > 0 && `, ${progress.unseen.length} not seen by the inventory`}
          </p>
        </>
      )}
    </li>
  );
}

export function Rollouts({ rollouts, clusters, drift, seen }: { rollouts: Rollout[]; clusters: FleetCluster[]; drift: DriftIndex; seen: boolean }) {
  if (rollouts.length === 0) return <Empty title="No rollouts">A batch or a flow (kollect fleet rollout) is listed here with how far the clusters have followed.</Empty>;
  return (
    <div class="scroll-page" tabIndex={0} role="region" aria-label="Rollouts">
      <ul class="rollouts">{rollouts.map((one) => <RolloutLine key={one.id} rollout={one} clusters={clusters} drift={drift} seen={seen} />)}</ul>
    </div>
  );
}
