// JSON values as YAML for people to read. Strings that another type could be read from stand in double quotes.

const kPlain = /^[A-Za-z_/$.][A-Za-z0-9_./$@()+-]*( [A-Za-z0-9_./$@()+-]+)*$/;
const kWords = /^(true|false|null|yes|no|on|off|y|n|~|\.nan|\.inf)$/i;

function scalar(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value);
  return kPlain.test(value) && !kWords.test(value) ? value : JSON.stringify(value);
}

function lines(value: unknown, indent: string): string[] {
  if (Array.isArray(value)) {
    if (value.length === 0) return [`${indent}[]`];
    return value.flatMap((one) => {
      const inner = lines(one, `${indent}  `);
      return [`${indent}- ${inner[0]!.slice(indent.length + 2)}`, ...inner.slice(1)];
    });
  }
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value);
    if (members.length === 0) return [`${indent}{}`];
    return members.flatMap(([name, inner]) => {
      const key = `${indent}${scalar(name)}:`;
      const nested = typeof inner === "object" && inner !== null && Object.keys(inner).length > 0;
      if (!nested) {
        const [first, ...rest] = lines(inner, indent);
        return [`${key} ${first!.slice(indent.length)}`, ...rest];
      }
      return [key, ...lines(inner, Array.isArray(inner) ? indent : `${indent}  `)];
    });
  }
  if (typeof value === "string" && value.includes("\n") && !value.includes("\r") && !/^\s/.test(value)) {
    return [`${indent}|${value.endsWith("\n") ? "" : "-"}`, ...value.replace(/\n$/, "").split("\n").map((line) => `${indent}  ${line}`)];
  }
  return [`${indent}${scalar(value)}`];
}

export function toYaml(value: unknown): string {
  return lines(value, "").join("\n");
}
