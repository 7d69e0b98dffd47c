// The parts that the views of our own kinds share: conditions in words, the drawer of an object.
import type { ComponentChildren } from "preact";
import { number, qualified } from "../format";
import type { Condition, ResourceStatus } from "../types";
import { Ago, Badge, Drawer, Facts, Words } from "../ui";
import { explain, health, typeMeaning } from "../words";
import { toYaml } from "../yaml";

/** Conditions whose True is bad news. */
const kBadWhenTrue = new Set(["Degraded", "ExportShardWarning", "TLSInsecure"]);

export function conditionTone(condition: Condition, all: Condition[]): "good" | "bad" | "wait" {
  if (condition.status === "Unknown") return "wait";
  const good = (condition.status === "True") !== kBadWhenTrue.has(condition.type);
  if (good) return "good";
  // Synced=False beside Ready=True, or because nothing has changed, is no fault.
  const ready = all.some((one) => one.type === "Ready" && one.status === "True");
  return condition.type === "Synced" && (ready || condition.reason === "Debounced") ? "wait" : "bad";
}

const kToneMarks = { good: "✓", bad: "!", wait: "…" };

export function Conditions({ kind, conditions }: { kind: string; conditions: Condition[] }) {
  if (conditions.length === 0) return <p class="muted">Nothing has been reported yet.</p>;
  const told = new Set<string>(); // the same is often the reason of several conditions
  return (
    <ul class="conditions">
      {conditions.map((one) => {
        const tone = conditionTone(one, conditions);
        const words = explain(kind, one.type, one.status, one.reason);
        const same = `${words?.means} ${one.message}`;
        const again = told.has(same);
        told.add(same);
        const meaning = typeMeaning(one.type);
        return (
          <li key={one.type} class={`condition condition-${tone}`}>
            <div class="condition-head">
              <span class="mark" aria-hidden="true">{kToneMarks[tone]}</span>
              <strong title={meaning ? `True: ${meaning.replaceAll("`", "")}` : undefined}>{one.type}</strong>
              <span>{one.status}</span>
              {one.reason && <span class="reason">{one.reason}</span>}
              <span class="spring" />
              <span class="muted"><Ago at={one.lastTransitionTime} /></span>
            </div>
            {words && !again && <p><Words text={words.means} /></p>}
            {words?.todo && tone !== "good" && !again && <p><b>Do:</b> <Words text={words.todo} /></p>}
            {one.message && !again && <p class="said">{one.message}</p>}
          </li>
        );
      })}
    </ul>
  );
}

export const objectKey = (object: ResourceStatus, kind: string) => `${object.kind ?? kind}/${object.namespace ?? ""}/${object.name}`;

export function Spec({ spec }: { spec: Record<string, unknown> | undefined }) {
  if (!spec || Object.keys(spec).length === 0) return null;
  return (
    <>
      <h3>Spec</h3>
      <pre class="value" tabIndex={0}>{toYaml(spec)}</pre>
    </>
  );
}

export function ObjectDrawer({ object, kind, onClose, children }: {
  object: ResourceStatus;
  kind: string;
  onClose: () => void;
  children?: ComponentChildren;
}) {
  const name = object.kind ?? kind;
  const hasStatus = object.conditions !== undefined;
  return (
    <Drawer
      title={object.name}
      subtitle={<>{name}{object.namespace && ` in ${object.namespace}`} {hasStatus && <Badge health={health(object).health} />}</>}
      onClose={onClose}
    >
      {hasStatus && <Conditions kind={name} conditions={object.conditions!} />}
      <Facts
        facts={[
          ["Rows", object.itemCount !== undefined && number(object.itemCount)],
          ["Last export", object.lastExportTime && <Ago at={object.lastExportTime} warn />],
          ["Generation", object.generation !== undefined && (
            <>{object.generation}{object.observedGeneration !== undefined && object.observedGeneration < object.generation && <span class="muted"> (seen: {object.observedGeneration})</span>}</>
          )],
        ].filter(([, value]) => value !== false) as [string, ComponentChildren][]}
      />
      {children}
      <Spec spec={object.spec} />
    </Drawer>
  );
}

/** The condition that says most about an object, in a line. */
export function mainWords(object: ResourceStatus, kind: string): string {
  const { condition } = health(object);
  if (!condition) return "";
  const words = explain(object.kind ?? kind, condition.type, condition.status, condition.reason);
  return condition.message || words?.means.replaceAll("`", "") || condition.reason || "";
}

export const objectName = (object: ResourceStatus) => qualified(object.namespace, object.name);
