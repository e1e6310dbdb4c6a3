import manifest from "../../package.json" with { type: "json" }

/**
 * The options of Node in `npm start`. One thread for V8's background work, and no collection of an idle heap: where
 * a process has one core or two, streams wait for both.
 */
export const nodeOptions: ReadonlyArray<string> = manifest.scripts.start
  .split(" ")
  .filter((word) => word.startsWith("--"))
