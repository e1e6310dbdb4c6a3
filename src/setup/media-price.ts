/** Prices of pictures, sound and video in a price file: of units if it has them, of tokens otherwise. */
import type { Amount } from "../money/amount.ts"
import type { ModelKind } from "../protocol/kinds/call-kind.ts"

export interface MediaPrice {
  readonly input?: Amount
  readonly output?: Amount
  readonly dims: Readonly<Record<string, Amount>>
}

type PerMillion = (field: string) => Amount | undefined

/** @returns undefined for kinds that have no such price; without any price, no dimension and no tokens */
export const mediaPriceOf = (kind: ModelKind, perMillion: PerMillion): MediaPrice | undefined => {
  switch (kind) {
    case "image": {
      const drawn = perMillion("output_cost_per_image_token")
      // Models that are billed by tokens are also listed with a price by the piece, of one size.
      return drawn === undefined
        ? units("images", perMillion("output_cost_per_image") ?? perMillion("input_cost_per_image"))
        : tokens(perMillion("input_cost_per_token"), drawn, { image_in: perMillion("input_cost_per_image_token") })
    }
    case "speech": {
      const characters = perMillion("input_cost_per_character")
      if (characters !== undefined) return units("characters", characters)
      return tokens(perMillion("input_cost_per_token"), perMillion("output_cost_per_token"), {
        audio_out: perMillion("output_cost_per_audio_token"),
      })
    }
    case "transcription": {
      const seconds = perMillion("input_cost_per_second")
      if (seconds !== undefined) return units("audio_seconds", seconds)
      return tokens(perMillion("input_cost_per_token"), perMillion("output_cost_per_token"), {
        audio_in: perMillion("input_cost_per_audio_token"),
      })
    }
    case "video":
      return units(
        "video_seconds",
        perMillion("output_cost_per_video_per_second") ?? perMillion("output_cost_per_second"),
      )
    default:
      return undefined
  }
}

const units = (unit: string, amount: Amount | undefined): MediaPrice => ({ dims: stated({ [unit]: amount }) })

const tokens = (
  input: Amount | undefined,
  output: Amount | undefined,
  dims: Readonly<Record<string, Amount | undefined>>,
): MediaPrice => ({
  ...(input !== undefined && { input }),
  ...(output !== undefined && { output }),
  dims: stated(dims),
})

const stated = (amounts: Readonly<Record<string, Amount | undefined>>): Readonly<Record<string, Amount>> =>
  Object.fromEntries(
    Object.entries(amounts).flatMap(([name, amount]) => (amount === undefined ? [] : [[name, amount] as const])),
  )
