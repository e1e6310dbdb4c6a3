/** `/console`: the document and its files. `/` leads browsers there. */
import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { newRequestId } from "../../calls/calls.ts"
import { compress, encodingHeaders, encodingOf } from "../compressed.ts"
import { goTo, pageHeaders, wantsPage } from "../page.ts"
import type { Request } from "../request.ts"
import { envelope, routeNotFound } from "../respond.ts"
import { loadAssets } from "./assets.ts"
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
      const encoding = encodingOf(request)
      const key = `${encoding} ${name}`
      const body = packed.get(key) ?? (yield* Effect.promise(() => compress(asset.text, encoding)))
      packed.set(key, body)
      return HttpServerResponse.uint8Array(body, {
        contentType: asset.type,
        headers: {
          "cache-control": "public, max-age=31536000, immutable",
          ...encodingHeaders(encoding),
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
