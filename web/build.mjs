// Builds the console: `node build.mjs FOLDER` writes what the program embeds; `node build.mjs --tests` bundles the unit
// tests into .tests. The same sources and lockfile give the same bytes, whatever the version of Node.
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));

/** Cells of a line of a Markdown table; null where it is none. */
function cells(line) {
  if (!line.startsWith("|")) return null;
  return line.split("|").slice(1, -1).map((cell) => cell.trim());
}

/**
 * What docs/conditions.md says, as data: `reasons` [reason, where, means, do] and `types` {type: meaning}. The page is the
 * one place where reasons are explained; the console shows its words.
 */
export function readConditions(markdown) {
  const reasons = [];
  const types = {};
  let header = [];
  for (const line of markdown.split("\n")) {
    const row = cells(line);
    if (!row) header = [];
    else if (header.length === 0) header = row;
    else if (/^-+$/.test(row[0])) continue;
    else if (header[0] === "condition") types[row[0].replaceAll("`", "")] = row[2];
    else if (header[0] === "reason") reasons.push([row[0].replaceAll("`", ""), row[1], row[2], row[3]]);
  }
  if (reasons.length < 30 || Object.keys(types).length < 5) throw new Error("docs/conditions.md: its tables are not found");
  return { reasons, types };
}

const conditions = {
  name: "conditions",
  setup(build) {
    build.onResolve({ filter: /^kollect:conditions$/ }, () => ({ path: "conditions", namespace: "kollect" }));
    build.onLoad({ filter: /.*/, namespace: "kollect" }, () => {
      const page = process.env.KOLLECT_CONDITIONS ?? join(here, "../docs/conditions.md");
      return { contents: JSON.stringify(readConditions(readFileSync(page, "utf8"))), loader: "json" };
    });
  },
};

const common = {
  bundle: true,
  absWorkingDir: here,
  target: "es2020",
  jsx: "automatic",
  jsxImportSource: "preact",
  plugins: [conditions],
  logLevel: "warning",
};

function hashed(name, text) {
  const [stem, type] = name.split(".");
  return `${stem}-${createHash("sha256").update(text).digest("hex").slice(0, 10)}.${type}`;
}

async function site(folder) {
  const result = await esbuild.build({
    ...common,
    entryPoints: [{ in: "src/main.tsx", out: "app" }, { in: "src/style/app.css", out: "app" }],
    outdir: "out",
    entryNames: "[name]-[hash]",
    format: "esm",
    minify: true,
    legalComments: "none",
    write: false,
    define: { "process.env.NODE_ENV": '"production"' },
  });
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const names = {};
  for (const file of result.outputFiles) {
    const name = basename(file.path);
    names[name.endsWith(".css") ? "css" : "js"] = name;
    writeFileSync(join(folder, name), file.contents);
  }
  const icon = readFileSync(join(here, "src/icon.svg"));
  names.icon = hashed("icon.svg", icon);
  writeFileSync(join(folder, names.icon), icon);
  const page = readFileSync(join(here, "src/index.html"), "utf8");
  writeFileSync(join(folder, "index.html"), page.replace(/\{\{(\w+)\}\}/g, (_, name) => names[name]));
  cpSync(join(here, "node_modules/preact/LICENSE"), join(folder, "licenses.txt"));
}

async function tests() {
  const folder = join(here, ".tests");
  rmSync(folder, { recursive: true, force: true });
  const entryPoints = readdirSync(join(here, "test")).filter((name) => name.endsWith(".test.ts")).map((name) => `test/${name}`);
  await esbuild.build({ ...common, entryPoints, outdir: folder, outExtension: { ".js": ".mjs" }, format: "esm", platform: "node" });
}

if (process.argv[2] === "--tests") await tests();
else if (process.argv[2]) await site(process.argv[2]);
else throw new Error("usage: node build.mjs FOLDER|--tests");
