// Rules about Markdown: one title per file, and a README in every folder that holds sources, so
// that a reader who opens a folder is told what it is.

import type { Rule, Violation } from "./repository.ts";
import { perFile } from "./shape-rules.ts";

const SOURCE_ENDINGS = [".ts", ".c", ".h", ".sh", ".yaml", ".xml", ".proto"];
/** Folders of data that the README above them describes. */
const DATA_FOLDERS = new Set(["fixtures", "generated"]);

const oneTitle = perFile("one-title", (file, report) => {
  if (!file.path.endsWith(".md")) return;
  let fenced = false;
  const titles: number[] = [];
  for (const [index, line] of file.lines.entries()) {
    if (line.trimStart().startsWith("```")) fenced = !fenced;
    if (!fenced && line.startsWith("# ")) titles.push(index + 1);
  }
  if (titles.length === 1) return;
  report(titles[1] ?? 1, `${titles.length} titles: a Markdown file has exactly one "# " line`);
});

const readmePerFolder: Rule = {
  name: "folder-readme",
  check: ({ paths }) => {
    const present = new Set(paths);
    const folders = new Set<string>();
    for (const path of paths) {
      const folder = path.slice(0, Math.max(path.lastIndexOf("/"), 0));
      if (SOURCE_ENDINGS.some((ending) => path.endsWith(ending))) folders.add(folder);
    }
    const violations: Violation[] = [];
    for (const folder of [...folders].sort()) {
      const readme = folder === "" ? "README.md" : `${folder}/README.md`;
      if (present.has(readme) || DATA_FOLDERS.has(folder.slice(folder.lastIndexOf("/") + 1)))
        continue;
      const message = "no README.md: say what the folder is, its layout, rules, limits and tests";
      violations.push({ path: readme, line: 1, rule: "folder-readme", message });
    }
    return violations;
  },
};

export const documentRules: readonly Rule[] = [oneTitle, readmePerFolder];
