/** Warnings of timeouts that are well formed, and still a mistake. Pure. */
import type { PlatformDocument } from "../protocol/catalogue/document.ts"
import { environmentsOf, resolveTimeouts, type TierValues, type TimeoutSettings } from "../protocol/timeout-tiers.ts"
import { duration } from "../protocol/values/duration.ts"

/** Names of environments that are never reported as a mistake. */
const usual = ["development", "staging", "production", "test"]

/**
 * @param environment of this gateway, `SVC_ENV`
 * @param variables that beat the catalogue here
 * @returns a sentence for each: profiles of environments that nobody has, this environment without a profile while others
 * have one, and a first frame that may take longer than the whole call
 */
export const timeoutWarnings = (
  { timeouts: platform, vendors = [], models = [] }: PlatformDocument,
  environment: string,
  variables: TierValues,
): ReadonlyArray<string> => {
  const places: ReadonlyArray<readonly [place: string, settings: TimeoutSettings | undefined]> = [
    ["timeouts", platform],
    ...vendors.map(({ id, timeouts }) => [`vendors/${id} timeouts`, timeouts] as const),
    ...models.map(({ handle, timeouts }) => [`models/${handle} timeouts`, timeouts] as const),
  ]
  const known = new Set([environment, ...usual])
  const unknown = places.flatMap(([place, settings]) =>
    environmentsOf(settings)
      .filter((name) => !known.has(name))
      .map(
        (name) => `${place}: "${name}" is not this environment (${environment}), nor a usual one; is it misspelled?`,
      ),
  )
  const named = new Set(places.flatMap(([, settings]) => environmentsOf(settings)))
  const lacking =
    named.size === 0 || named.has(environment)
      ? []
      : [`timeouts: there are profiles for ${[...named].join(", ")}, and none for this environment (${environment})`]

  const environments = new Set([environment, ...named])
  const tooLong = new Set<string>()
  const compare = (what: string, model: TimeoutSettings | undefined, vendor: TimeoutSettings | undefined) => {
    for (const each of environments) {
      const { ttfb, total } = resolveTimeouts({
        environment: each,
        // The variables are this gateway's.
        variables: each === environment ? variables : {},
        model,
        vendor,
        platform,
      })
      if (ttfb.ms <= total.ms) continue
      const [first, whole] = [ttfb, total].map(({ ms, source }) => `${duration(ms)} (${source})`)
      tooLong.add(`${what}: in ${each}, ttfb ${first} is above total ${whole}, which ends the call before`)
    }
  }
  const vendorOf = new Map(vendors.map((vendor) => [vendor.id, vendor.timeouts]))
  if (models.length === 0) compare("timeouts", undefined, undefined)
  for (const { handle, targets = [], timeouts } of models) {
    for (const { vendor } of targets) compare(`models/${handle} at ${vendor}`, timeouts, vendorOf.get(vendor))
  }
  return [...unknown, ...lacking, ...tooLong]
}
