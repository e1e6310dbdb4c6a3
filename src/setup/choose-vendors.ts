/** The vendors that `weir init` sets up: those that are named, or those whose API keys are in the environment. */
import { Result } from "effect"
import type { Vendor } from "../protocol/catalogue/vendor.ts"
import { type KnownVendor, knownVendors } from "./known-vendors.ts"

export interface VendorToSetUp {
  readonly entry: Omit<Vendor, "timeouts">
  readonly key: string | undefined
  /** Its name in a price file; undefined for a server of one's own, which may have no price. */
  readonly provider: string | undefined
  /** Whether it has no list of its models that can be read. */
  readonly hasNoList: boolean
}

type Environment = Readonly<Record<string, string | undefined>>

/** Vendors whose keys are set. */
export const vendorsWithKeys = (env: Environment): ReadonlyArray<VendorToSetUp> =>
  knownVendors.map((known) => knownToSetUp(known, (name) => env[name])).filter(canBeCalled)

/** Whether a vendor has its API key here, or an identity at its cloud. */
export const canBeCalled = ({ entry, key }: VendorToSetUp): boolean =>
  key !== undefined || entry.credential === undefined

/**
 * Reads a vendor as it is named on the command line: `anthropic`, or `local=http://127.0.0.1:8000/v1` for any server with the
 * API of OpenAI's chat completions, whose key is in `LOCAL_API_KEY` if it needs one.
 * @returns the reason why it is none, in one line
 */
export const vendorNamed = (text: string, env: Environment): Result.Result<VendorToSetUp, string> => {
  const known = knownVendors.find(({ vendor }) => vendor.id === text)
  if (known !== undefined) return Result.succeed(knownToSetUp(known, (name) => env[name]))
  const [, id, baseUrl] = /^([a-z][a-z0-9-]{0,30})=(https?:\/\/[^\s?#]+)$/.exec(text) ?? []
  if (id === undefined || baseUrl === undefined) {
    const names = knownVendors.map(({ vendor }) => vendor.id).join(", ")
    return Result.fail(`${text} is no vendor: name one of ${names}, or another as name=URL`)
  }
  const variable = keyVariableOf(id)
  const key = env[variable]
  const credential = key === undefined ? {} : { credential: `env:${variable}` }
  return Result.succeed({
    entry: { id, dialect: "openai-chat", profile: "generic", baseUrl, ...credential },
    key,
    // The entry's other fields, such as a region, or a proxy in front of the vendor.
    provider: knownVendors.find(({ vendor }) => vendor.id === id)?.provider,
    hasNoList: false,
  })
}

/** The variable with the key of a server of one's own. */
export const keyVariableOf = (id: string): string => `${id.toUpperCase().replaceAll("-", "_")}_API_KEY`

/** A known vendor with its API key, or with an identity at its cloud. @param variableAt the value of a variable */
export const knownToSetUp = (
  { vendor, variables, provider, hasNoList = false, access }: KnownVendor,
  variableAt: (variable: string) => string | undefined,
): VendorToSetUp => {
  const variable = variables.find((name) => (variableAt(name) ?? "") !== "")
  const found = access?.(variableAt)
  const isSignedIn = [found?.aws?.accessKeyId, found?.aws?.credentials, found?.google, found?.azure].some(
    (way) => way !== undefined,
  )
  if (variable === undefined && isSignedIn) {
    return { entry: { ...vendor, ...found }, key: undefined, provider, hasNoList }
  }
  const { region } = found?.aws ?? {}
  return {
    entry: {
      ...vendor,
      ...(found?.baseUrl !== undefined && { baseUrl: found.baseUrl }),
      ...(region !== undefined && { aws: { region } }),
      credential: `env:${variable ?? variables[0]}`,
    },
    key: variable === undefined ? undefined : variableAt(variable),
    provider,
    hasNoList,
  }
}
