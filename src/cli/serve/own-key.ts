/** The line for a start with the simulated vendor, if the environment has an API key of a real one. */
import { knownVendors } from "../../setup/known-vendors.ts"

/** Undefined if no key of a known vendor is set. */
export const describeOwnKey = (env: Readonly<Record<string, string | undefined>>): string | undefined => {
  const set = knownVendors.flatMap(({ variables }) => variables).find((name) => (env[name] ?? "") !== "")
  return set === undefined ? undefined : `${set} is set: npm run weir -- init, then SVC_CATALOGUE=weir.yaml npm start`
}
