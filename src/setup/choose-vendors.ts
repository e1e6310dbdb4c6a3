/** Which vendors `weir init` sets up: those that are named, or those whose API keys are in the environment. */
import { Result } from "effect"
import type { AddressedVendor } from "../protocol/catalogue.ts"
import { type KnownVendor, knownVendors } from "./known-vendors.ts"

export interface VendorToSetUp {
  readonly entry: Omit<AddressedVendor, "timeouts">
  readonly key: string | undefined
  /** Its name in a price file; undefined for a server of one's own, which may have no price. */
  readonly provider: string | undefined
}

type Environment = Readonly<Record<string, string | undefined>>

/** Vendors whose keys are there. */
export const vendorsWithKeys = (env: Environment): ReadonlyArray<VendorToSetUp> =>
  knownVendors.map((known) => knownToSetUp(known, (name) => env[name])).filter(({ key }) => key !== undefined)

/**
 * Reads a vendor as it is named on the command line: `anthropic`, or `local=http://127.0.0.1:8000/v1` for any server with
 * the API of OpenAI's chat completions, whose key is in `LOCAL_API_KEY` if it needs one.
 * @returns why it is none, in one line
 */
export const vendorNamed = (text: string, env: Environment): Result.Result<VendorToSetUp, string> => {
  const known = knownVendors.find(({ vendor }) => vendor.id === text)
  if (known !== undefined) return Result.succeed(knownToSetUp(known, (name) => env[name]))
  const [, id, baseUrl] = /^([a-z][a-z0-9-]{0,30})=(https?:\/\/[^\s?#]+)$/.exec(text) ?? []
  if (id === undefined || baseUrl === undefined) {
    const names = knownVendors.map(({ vendor }) => vendor.id).join(", ")
    return Result.fail(`${text} is no vendor: name one of ${names}, or another as name=URL`)
  }
  const variable = `${id.toUpperCase().replaceAll("-", "_")}_API_KEY`
  const key = env[variable]
  const credential = key === undefined ? {} : { credential: `env:${variable}` }
  return Result.succeed({
    entry: { id, dialect: "openai-chat", profile: "generic", baseUrl, ...credential },
    key,
    // Such as a vendor's region, or a proxy in front of it.
    provider: knownVendors.find(({ vendor }) => vendor.id === id)?.provider,
  })
}

/** A known vendor with its API key, if there is one. @param secretOf the value of a variable */
export const knownToSetUp = (
  { vendor, variables, provider }: KnownVendor,
  secretOf: (variable: string) => string | undefined,
): VendorToSetUp & { readonly entry: { readonly credential: string } } => {
  const variable = variables.find((name) => (secretOf(name) ?? "") !== "")
  return {
    entry: { ...vendor, credential: `env:${variable ?? variables[0]}` },
    key: variable === undefined ? undefined : secretOf(variable),
    provider,
  }
}
