/** The program of `weir serve`: the services, the HTTP server, and the start itself. */
import { rmSync } from "node:fs"
import { Console, Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { NetAddress } from "effect/net"
import { Calls } from "../../calls/calls.ts"
import { Catalogue } from "../../catalogue/catalogue.ts"
import { applyAndWatch } from "../../catalogue/watch.ts"
import { isDevelopment, WeirConfig } from "../../config.ts"
import { makeDemoTraffic } from "../../development/demo-traffic.ts"
import {
  type DevelopmentHandout,
  layerAdminKey,
  layerMasterKey,
  layerMintedSecrets,
  layerSecrets,
  layerSimulatedVendor,
  startDevelopment,
} from "../../development/start.ts"
import { writeWholeFile } from "../../files/whole-file.ts"
import { layerServer } from "../../http/server.ts"
import { layerServices } from "../../services.ts"
import { layerLogs } from "../../telemetry/logs.ts"
import { NodeProblems } from "../../telemetry/node-problems.ts"
import { layerOtlp } from "../../telemetry/otlp.ts"
import { answerSupervisor, isWorker, sendReady } from "../../workers/worker.ts"
import { banner } from "./banner.ts"
import { collectUnlessUsed } from "./collect-after-start.ts"
import { describeOwnKey } from "./own-key.ts"

/** Applies the catalogue, then announces the gateway's addresses. */
const start = Layer.effectDiscard(
  Effect.gen(function* () {
    const config = yield* WeirConfig
    const handout = yield* startDevelopment
    const minted =
      config.catalogueFile === undefined
        ? []
        : yield* applyAndWatch(config.catalogueFile, {
            prune: config.cataloguePrune,
            mintsAtStart: isDevelopment(config) && !isWorker,
          })
    const { address } = yield* HttpServer.HttpServer
    const baseUrl = urlOf(address, config)
    const calls = yield* Calls
    yield* Effect.forkScoped(collectUnlessUsed(calls.hasRun))
    if (isWorker) {
      yield* answerSupervisor
      return sendReady(readyOf(baseUrl, handout))
    }
    const { document } = (yield* Catalogue).current()
    const model = document.models?.find(({ kind = "chat" }) => kind === "chat")?.handle
    const keys = minted.map(({ keyId: id, secret }) => ({ id, secret }))
    yield* Console.log(banner(baseUrl, config.env, handout, { keys, model }))
    const ownKey =
      handout?.key === undefined || config.catalogueFile !== undefined ? undefined : describeOwnKey(process.env)
    if (ownKey !== undefined) yield* Console.log(`\n${ownKey}`)
    if (config.readyFile !== undefined) yield* writeReadyFile(config.readyFile, readyOf(baseUrl, handout))
    if (config.demoTraffic && handout?.key !== undefined) {
      yield* Effect.forkScoped(Effect.ignore(makeDemoTraffic(baseUrl, handout.key)))
    }
  }),
)

/** The gateway, given its configuration. */
export const layerGateway = start.pipe(
  Layer.provideMerge(layerServer),
  Layer.provideMerge(Layer.mergeAll(layerAdminKey, layerSimulatedVendor)),
  Layer.provideMerge(layerServices),
  Layer.provide(layerSecrets),
  Layer.provide(layerMasterKey),
  Layer.provide(layerMintedSecrets),
  Layer.provide(layerOtlp),
  Layer.provideMerge(NodeProblems.layer),
  Layer.provide(layerLogs),
)

/** The URL of the gateway for a client on this machine. */
const urlOf = (address: NetAddress.SocketAddress, { tls, basePath }: WeirConfig["Service"]): string => {
  const url = NetAddress.formatUrlUnsafe(address).replace("0.0.0.0", "127.0.0.1") + basePath
  return tls === undefined ? url : url.replace(/^http:/, "https:")
}

const readyOf = (baseUrl: string, handout: DevelopmentHandout | undefined) => ({
  baseUrl,
  pid: process.pid,
  ...(handout?.key !== undefined && { keyId: handout.key.id, key: handout.key.secret }),
  ...(handout?.adminKey !== undefined && { adminKey: handout.adminKey }),
})

const writeReadyFile = (file: string, ready: ReturnType<typeof readyOf>) =>
  Effect.acquireRelease(
    Effect.sync(() => writeWholeFile(file, `${JSON.stringify(ready)}\n`)),
    () => Effect.sync(() => rmSync(file, { force: true })),
  )
