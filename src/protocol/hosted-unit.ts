/** Uses of tools that vendors run and bill beside their tokens, as prices and bills name them. Pure. */

export const hostedUnits = ["web_search", "file_search", "code_execution", "image_generation", "maps"] as const
export type HostedUnit = (typeof hostedUnits)[number]

/** The capability that an organisation needs to use them. */
export const hostedCapability: Readonly<Record<HostedUnit, string>> = {
  web_search: "webSearch",
  file_search: "fileSearch",
  code_execution: "codeExecution",
  image_generation: "imageGen",
  maps: "maps",
}

/** The numbers of uses of such tools in one reply. */
export interface HostedUses {
  /** The uses for which money is held. */
  readonly units: ReadonlyArray<HostedUnit>
  /** The maximum of all of them together. */
  readonly most: number
  /** The tools that the organisation may use; a vendor that carries all tools runs the others too. */
  readonly allowed: ReadonlyArray<HostedUnit>
}

/** The most uses of a tool that a vendor may report for one reply. */
export const mostHostedUses = 100
