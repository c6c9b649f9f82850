// Bundles src/ into ../kgplatform/server/static: hashed names, manifest.json for the pages, THIRD-PARTY.txt with licences.
import { build } from "esbuild";
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { NOTICE, SOURCES, STEP, maps } from "./cut.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const place = join(here, "..", "kgplatform", "server", "static");
const target = join(here, "node_modules", `.made-${process.pid}`); // moved into place when whole
const require = createRequire(import.meta.url);

let cut = null;
/** The data of maps by the name of their module: the world from afar, a region, or where each region is loaded from. */
const mapped = (path) => {
  cut ??= maps();
  const [name, region] = path.split("/");
  if (name === "world") return { contents: JSON.stringify(cut.world), loader: "json" };
  if (region) return { contents: JSON.stringify(cut.regions.get(region)), loader: "json" };
  const all = [...cut.regions.keys()].map((key) => `"${key}": () => import("virtual:region/${key}")`);
  return { contents: `export const step = ${STEP};\nexport const regions = { ${all.join(", ")} };\n`, loader: "js" };
};

// `import css from "x.css?text"`: a stylesheet as text, for chunks that bring their own; pictures in it are left out.
const extras = {
  name: "extras",
  setup(bundle) {
    bundle.onResolve({ filter: /\.css\?text$/ }, (args) => ({
      path: require.resolve(args.path.replace("?text", ""), { paths: [args.resolveDir] }), namespace: "css-text",
    }));
    bundle.onLoad({ filter: /.*/, namespace: "css-text" }, (args) => ({
      contents: readFileSync(args.path, "utf8").replace(/url\([^)]*\)/g, "none"), loader: "text",
    }));
    bundle.onResolve({ filter: /^virtual:/ }, (args) => ({ path: args.path.slice("virtual:".length), namespace: "maps" }));
    bundle.onLoad({ filter: /.*/, namespace: "maps" }, (args) => mapped(args.path));
  },
};

// The packages that the bundle holds, each with its licence, as those ask for.
const packages = (inputs) => {
  const roots = new Set(SOURCES);
  for (const input of inputs) {
    const path = input.replaceAll("\\", "/").replace(/^css-text:/, "");
    const last = path.lastIndexOf("node_modules/");
    if (last < 0) continue;
    const parts = path.slice(last + "node_modules/".length).split("/");
    roots.add(parts[0].startsWith("@") ? `${parts[0]}/${parts[1]}` : parts[0]);
  }
  return [...roots].sort();
};

const licence = (name) => {
  const folder = join(here, "node_modules", ...name.split("/"));
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((one) => /^(licen[cs]e|copying)/i.test(one));
  const terms = typeof about.license === "string" ? about.license : about.license?.type ?? "see below";
  const text = file ? readFileSync(join(folder, file), "utf8").trim() : `(${terms}; the package carries no licence text)`;
  return `${"=".repeat(78)}\n${name} ${about.version}  ${terms}\n${"=".repeat(78)}\n\n${text}\n`;
};

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
const made = await build({
  absWorkingDir: here,
  entryPoints: { app: "src/app.js", styles: "src/app.css" },
  outdir: target,
  bundle: true,
  splitting: true,
  format: "esm",
  target: ["es2022"],
  minify: true,
  sourcemap: false,
  legalComments: "none",
  metafile: true,
  charset: "utf8",
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  loader: { ".woff2": "file" },
  plugins: [extras],
  logLevel: "warning",
});

const manifest = {};
for (const [path, output] of Object.entries(made.metafile.outputs)) {
  if (!output.entryPoint || !output.entryPoint.startsWith("src/app")) continue;
  manifest[`app${path.slice(path.lastIndexOf("."))}`] = relative(target, join(here, path)).split(sep).join("/");
}
const names = packages(Object.keys(made.metafile.inputs));
const all = readdirSync(target).sort();
writeFileSync(join(target, "THIRD-PARTY.txt"),
  `The pages hold parts of these packages, each under its own licence.\n\n${NOTICE}\n${names.map(licence).join("\n")}`);
writeFileSync(join(target, "manifest.json"), `${JSON.stringify({ entries: manifest, files: all }, null, 1)}\n`);
if (!existsSync(join(target, manifest["app.js"] ?? ""))) throw new Error("the bundle has no app.js");
rmSync(place, { recursive: true, force: true });
renameSync(target, place);
console.log(`${basename(place)}: ${all.length} files, ${names.length} packages`);
