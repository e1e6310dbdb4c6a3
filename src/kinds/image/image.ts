/** Pictures: the kind `image`. */
import { Result } from "effect"
import type { Asked, Kind } from "../../calls/kind.ts"
import { modelFor, orNotConfigured, targetsFor } from "../../calls/model.ts"
import { tokensOfBytes } from "../../calls/tokens/tokens.ts"
import type { CallTarget } from "../../catalogue/snapshot.ts"
import type { ImageAsked, ImageDialect, Pictured } from "../../dialects/media-dialect.ts"
import { makersName } from "../../dialects/vendor/family.ts"
import { LongStrings } from "../../media/long-strings.ts"
import type { NamedFile } from "../../media/media-file.ts"
import { StoredTexts } from "../../media/stored-texts.ts"
import { exactUnit, maxCharge, type Price, priceUsage, unitCharge, unitDims } from "../../money/pricing.ts"
import type { EditText } from "../../policies/reply/reply-blocks.ts"
import { serviceError } from "../../protocol/error.ts"
import type { ImageFields, ImageResponse, MadeFigures, MadeImage } from "../../protocol/kinds/image.ts"
import { dailyCountsOf } from "../daily-counts.ts"
import { implausibleMedia, isByTokens, mediaBill } from "../media/media-bill.ts"
import { pricedSize } from "../media/priced-size.ts"
import { encodeWhole, openingOf, replyHead } from "../whole/whole-call.ts"
import type { VendorStep, WholeStream } from "../whole/whole-readers.ts"
import { WholeTask } from "../whole/whole-task.ts"

/** A request with its pictures as files. */
export interface ImageCall extends ImageFields {
  readonly images: ReadonlyArray<NamedFile>
  readonly mask: NamedFile | undefined
}

/** Tokens of one picture, held before the call; the models of today count fewer. */
const tokensPerImage = 8192
/** The tokens that a model that reasons or draws in steps may count for one picture. */
const mostTokensPerImage = 65_536

/** The largest reply with pictures. */
const maxPictureBytes = 96 * 1024 * 1024

export const image: Kind<ImageCall, ImageResponse> = {
  name: "image",
  purpose: "image",
  modelOf: ({ model }) => model,
  capability: "imageGen",
  dailyCounts: dailyCountsOf("imagegen"),
  reviewed: ({ prompt }) => prompt,
  plan: (asked) => {
    const { services, request, caller, catalogue, nowMs } = asked
    const { meta: _meta, model, ...wanted } = request
    const { prompt, n = 1, images, size, resolution, quality, stream } = wanted
    const found = orNotConfigured(
      modelFor(model, "image", caller, catalogue, nowMs),
      "image",
      catalogue,
      "imagegen_not_configured",
    )
    return Result.flatMap(found, ({ entry, price }) => {
      const details = [pricedSize(resolution ?? size ?? "auto"), quality ?? "auto"]
      if (!isByTokens(price) && exactUnit(price, "images", details) === undefined) {
        return Result.fail(serviceError("pricing_guard_tripped", "This model has no price for such a picture"))
      }
      const tokens = tokensOf(price, prompt, n, images.length)
      const units = (count: number) => unitDims(price, "images", count, details)
      const partOf = (target: CallTarget, part: number): ImageAsked => ({
        ...wanted,
        n: Math.min(mostAt(target), n - part * mostAt(target)),
      })
      const pictures = new StoredTexts(services.spool.open)
      const task: WholeTask<Pictured, ImageResponse> = new WholeTask<Pictured, ImageResponse>(
        {
          model,
          targets: targetsFor(caller, entry.targets),
          timeoutsOf: (target) => services.timeoutsOf(catalogue, target, entry),
          currency: price.currency,
          holdAmount: maxCharge(price, tokens.held.inTokens, tokens.held.outTokens) + unitCharge(price, units(n)),
          holdTokens: isByTokens(price) ? tokens.held.inTokens + tokens.held.outTokens : 0,
          operation: "generate_content",
          maxBodyBytes: maxPictureBytes,
          long: {
            marked: pictures,
            taken: () => new LongStrings(pictures, Math.min(maxPictureBytes, services.config.upstreamMaxBytes)),
          },
          partsAt: (target) => Math.ceil(n / mostAt(target)),
          encode: (target, part) => encodeWhole(target, dialectAt(target), "image", partOf(target, part)),
          decode: (target, body, part, headers) => dialectAt(target)?.decode(body, partOf(target, part), headers),
          faultIn: (target, body) => dialectAt(target)?.faultIn?.(body),
          bill: (parts) => mediaBill(tokens, usagesOf(parts), units(picturesOf(parts).length), undefined, undefined),
          implausible: (parts) => implausibleMedia(tokens, usagesOf(parts)),
          charge: ({ counts }) => priceUsage(price, counts),
          answered: (parts) =>
            picturesOf(parts)
              .flatMap(({ revisedPrompt = [] }) => revisedPrompt)
              .join("\n"),
          edited: (part, edit) => ({ ...part, images: part.images.map((image) => editPicture(image, edit)) }),
          finish: (parts, usage) => {
            const made = parts[0]?.made
            const head = { ...replyHead(asked), images: picturesOf(parts), ...(made !== undefined && { made }) }
            return (balance) => ({ ...head, usage: { ...usage, balance } })
          },
          ...(stream === true && {
            stream: {
              ...streamOf(asked),
              opening: () => openingOf(asked, task.warnings),
              brokenBill: (broken) => mediaBill(tokens, [], units(n), broken, undefined),
            },
          }),
        },
        services,
      )
      return Result.succeed(task)
    })
  },
}

const dialectAt = ({ dialect }: CallTarget): ImageDialect | undefined => dialect.image

const editPicture = (image: MadeImage, edit: EditText): MadeImage =>
  image.revisedPrompt === undefined ? image : { ...image, revisedPrompt: edit(image.revisedPrompt, "text", false) }

const mostAt = (target: CallTarget): number => dialectAt(target)?.maxImages(makersName(target)) ?? 1

const usagesOf = (parts: ReadonlyArray<Pictured>) => parts.map(({ usage }) => usage)

const picturesOf = (parts: ReadonlyArray<Pictured>): ReadonlyArray<MadeImage> => parts.flatMap(({ images }) => images)

/** A model that makes one picture at a time reads the prompt for each. */
const tokensOf = (price: Price, prompt: string, n: number, sources: number) => {
  const read = n * (tokensOfBytes(Buffer.byteLength(prompt)) + sources * tokensPerImage)
  return {
    price,
    held: { inTokens: read, outTokens: n * tokensPerImage },
    limit: {
      inTokens: n * (Buffer.byteLength(prompt) + 1024 + sources * mostTokensPerImage),
      outTokens: n * mostTokensPerImage,
    },
  }
}

/** Partial pictures as they arrive, then the whole ones. */
const streamOf = ({
  reply,
}: Pick<Asked<ImageCall, ImageResponse>, "reply">): Omit<WholeStream<Pictured>, "opening" | "brokenBill"> => {
  const told = (images: ReadonlyArray<MadeImage>, partial: boolean, made?: MadeFigures): string =>
    images
      .map(({ mime, data }, i) => {
        return reply.events.picture?.({ i, t: "image", mime, data, partial, ...(made !== undefined && { made }) }) ?? ""
      })
      .join("")
  return {
    write: (events) => reply.write(events),
    told: (parts) => told(picturesOf(parts), false, parts[0]?.made),
    event: (target, event): VendorStep<Pictured> | undefined => {
      const step = dialectAt(target)?.event?.(event)
      if (step === undefined || "fault" in step) return step
      if ("partial" in step) return { events: told([step.partial], true) }
      return { whole: step.whole, events: told(step.whole.images, false, step.whole.made) }
    },
  }
}
