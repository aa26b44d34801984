// The profiles and models that ship inside the program, as text, so that the compiled binary needs
// no file beside it. A new file in profiles/ gets a line here.

import documentOneYaml from "../../profiles/document-one.yaml" with { type: "text" };
import openpiPositionsYaml from "../../profiles/deployments/so101-openpi-positions.yaml" with {
  type: "text",
};
import openpiVelocitiesYaml from "../../profiles/deployments/so101-openpi-velocities.yaml" with {
  type: "text",
};
import openpiToolYaml from "../../profiles/deployments/ur5e-openpi-tool.yaml" with { type: "text" };
import so101ServoPayloadYaml from "../../profiles/deployments/so101-servo-payload.yaml" with {
  type: "text",
};
import so101ServoYaml from "../../profiles/deployments/so101-servo.yaml" with { type: "text" };
import so101Xml from "../../profiles/models/so101.xml" with { type: "text" };
import multirotorYaml from "../../profiles/multirotor.yaml" with { type: "text" };
import quadrupedYaml from "../../profiles/quadruped.yaml" with { type: "text" };
import ur5eXml from "../../profiles/models/ur5e.xml" with { type: "text" };
import so101Yaml from "../../profiles/so101.yaml" with { type: "text" };
import noneYaml from "../../profiles/tasks/none.yaml" with { type: "text" };
import pickPlaceYaml from "../../profiles/tasks/pick_place.yaml" with { type: "text" };
import reachYaml from "../../profiles/tasks/reach.yaml" with { type: "text" };
import reachFarYaml from "../../profiles/tasks/reach_far.yaml" with { type: "text" };
import ur5eYaml from "../../profiles/ur5e.yaml" with { type: "text" };
import wheeledBaseYaml from "../../profiles/wheeled-base.yaml" with { type: "text" };
import { assert } from "../contracts/assert.ts";

/** Built-in files by their path in the repository. */
export const builtinFiles: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "profiles/so101.yaml": so101Yaml,
    "profiles/ur5e.yaml": ur5eYaml,
    "profiles/document-one.yaml": documentOneYaml,
    "profiles/wheeled-base.yaml": wheeledBaseYaml,
    "profiles/quadruped.yaml": quadrupedYaml,
    "profiles/multirotor.yaml": multirotorYaml,
    "profiles/deployments/so101-servo.yaml": so101ServoYaml,
    "profiles/deployments/so101-servo-payload.yaml": so101ServoPayloadYaml,
    "profiles/deployments/so101-openpi-positions.yaml": openpiPositionsYaml,
    "profiles/deployments/so101-openpi-velocities.yaml": openpiVelocitiesYaml,
    "profiles/deployments/ur5e-openpi-tool.yaml": openpiToolYaml,
    "profiles/tasks/none.yaml": noneYaml,
    "profiles/tasks/reach.yaml": reachYaml,
    "profiles/tasks/reach_far.yaml": reachFarYaml,
    "profiles/tasks/pick_place.yaml": pickPlaceYaml,
    "profiles/models/so101.xml": so101Xml,
    "profiles/models/ur5e.xml": ur5eXml,
  }).map(([path, text]) => [path, asText(text)] as const),
);

/** Names that may be given instead of a path, for robots and their deployments. */
export const robotNames: readonly string[] = namesIn(/^profiles\/(?:deployments\/)?([^/]+)\.yaml$/);
/** Those of them that are robots: what a deployment may name. */
export const plainRobotNames: readonly string[] = namesIn(/^profiles\/([^/]+)\.yaml$/);
/** Names that may be given instead of a path, for tasks. */
export const taskNames: readonly string[] = namesIn(/^profiles\/tasks\/([^/]+)\.yaml$/);

function namesIn(pattern: RegExp): string[] {
  return [...builtinFiles.keys()].flatMap((path) => pattern.exec(path)?.[1] ?? []);
}

// The types of these imports say what a loader would make of them; the attribute makes them text.
function asText(imported: unknown): string {
  assert(typeof imported === "string", "built-in files are imported as text");
  return imported;
}
