// Bundles src/ into ../kgplatform/server/static: hashed names, manifest.json for the pages, THIRD-PARTY.txt with licences.
import { build } from "esbuild";
import { geoEquirectangular, geoPath } from "d3-geo";
import { feature } from "topojson-client";
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const place = join(here, "..", "kgplatform", "server", "static");
const target = join(here, "node_modules", `.made-${process.pid}`); // moved into place when whole
const require = createRequire(import.meta.url);

// The world's land as one even-odd polygon, cut at the antimeridian, so that a flat map draws no streaks across it.
const land = () => {
  const world = JSON.parse(readFileSync(require.resolve("world-atlas/land-110m.json"), "utf8"));
  const rings = [];
  let ring = [];
  const round = (value) => Math.round(value * 100) / 100;
  const degrees = 180 / Math.PI;
  const flat = geoEquirectangular().scale(degrees).translate([0, 0]).precision(0.5);
  geoPath(flat, {
    beginPath() {}, arc() {},
    moveTo(x, y) { ring = [[round(x), round(-y)]]; },
    lineTo(x, y) { ring.push([round(x), round(-y)]); },
    closePath() { rings.push(ring); ring = []; },
  })(feature(world, world.objects.land));
  return rings.filter((one) => one.length > 3);
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
    bundle.onResolve({ filter: /^virtual:land$/ }, () => ({ path: "land", namespace: "land" }));
    bundle.onLoad({ filter: /.*/, namespace: "land" }, () => ({ contents: JSON.stringify(land()), loader: "json" }));
  },
};

// The packages that the bundle holds, each with its licence, as those ask for.
const packages = (inputs) => {
  const roots = new Set(["world-atlas"]);
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
  `The pages hold parts of these packages, each under its own licence.\n\n${names.map(licence).join("\n")}`);
writeFileSync(join(target, "manifest.json"), `${JSON.stringify({ entries: manifest, files: all }, null, 1)}\n`);
if (!existsSync(join(target, manifest["app.js"] ?? ""))) throw new Error("the bundle has no app.js");
rmSync(place, { recursive: true, force: true });
renameSync(target, place);
console.log(`${basename(place)}: ${all.length} files, ${names.length} packages`);
