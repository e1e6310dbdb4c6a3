/** `/console`: the document and its files. `/` leads browsers there. */
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { newRequestId } from "../../calls/calls.ts"
import { goTo, pageHeaders, wantsPage } from "../page.ts"
import type { Request } from "../request.ts"
import { envelope, routeNotFound } from "../respond.ts"
import { type Asset, loadAssets } from "./assets.ts"
import { consolePage } from "./page.ts"

export const consoleRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const console = yield* Effect.cached(
      Effect.sync(() => {
        const assets = loadAssets()
        return { assets, page: consolePage(assets), packed: new Map<string, Uint8Array>() }
      }),
    )

    const showPage = Effect.map(console, ({ page: { html, policy } }) =>
      HttpServerResponse.text(html, {
        contentType: "text/html; charset=utf-8",
        headers: { ...pageHeaders, "content-security-policy": policy },
      }),
    )

    const sendFile = Effect.fnUntraced(function* (request: Request, path: string) {
      const { assets, packed } = yield* console
      const prefix = `/console/${assets.version}/`
      const name = path.startsWith(prefix) ? path.slice(prefix.length) : undefined
      const asset = name === undefined ? undefined : assets.files.get(name)
      if (name === undefined || asset === undefined) return yield* envelope(newRequestId(), routeNotFound)
      const encoding = encodingOf(request.headers["accept-encoding"] ?? "")
      const key = `${encoding} ${name}`
      const body = packed.get(key) ?? (yield* Effect.promise(() => pack(asset, encoding)))
      packed.set(key, body)
      return HttpServerResponse.uint8Array(body, {
        contentType: asset.type,
        headers: {
          "cache-control": "public, max-age=31536000, immutable",
          vary: "accept-encoding",
          ...(encoding !== "identity" && { "content-encoding": encoding }),
        },
      })
    })

    const showStart = (request: Request) =>
      wantsPage(request) ? Effect.succeed(goTo(request, "/console/", 302)) : envelope(newRequestId(), routeNotFound)

    yield* router.add("GET", "/", showStart)
    yield* router.add("GET", "/console/*", (request) => {
      const { pathname } = new URL(request.url, "http://localhost")
      if (pathname === "/console") return Effect.succeed(goTo(request, "/console/", 302))
      return pathname === "/console/" ? showPage : sendFile(request, pathname)
    })
  }),
)

type Encoding = "br" | "gzip" | "identity"

const encodingOf = (accepted: string): Encoding => {
  if (/\bbr\b/.test(accepted)) return "br"
  return /\bgzip\b/.test(accepted) ? "gzip" : "identity"
}

const pack = ({ text }: Asset, encoding: Encoding): Promise<Uint8Array> => {
  const bytes = Buffer.from(text)
  if (encoding === "br") return promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } })
  return encoding === "gzip" ? promisify(gzip)(bytes) : Promise.resolve(bytes)
}
