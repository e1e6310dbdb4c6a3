/** Checks of request signatures, which are verified wherever they are present. */
import { HandshakeResponse } from "../protocol/session.ts"
import { decode, expectError, type Group } from "./probe.ts"

const path = "/t1/handshake"
const body = JSON.stringify({ protocols: ["twp/1"] })

export const signatureChecks: Group = {
  section: "Request signature",
  checks: [
    {
      name: "a good signature passes, once",
      run: async (probe) => {
        const headers = await probe.signature(path, body)
        decode(await probe.send(path, { body, headers }), HandshakeResponse)
        expectError(await probe.send(path, { body, headers }), "nonce_replayed")
      },
    },
    {
      name: "a body that was changed is signature_invalid",
      run: async (probe) => {
        expectError(
          await probe.send(path, { body: `${body} `, headers: await probe.signature(path, body) }),
          "signature_invalid",
        )
      },
    },
    {
      name: "a path that was changed is signature_invalid",
      run: async (probe) => {
        expectError(
          await probe.send("/t1/heartbeat", { body, headers: await probe.signature(path, body) }),
          "signature_invalid",
        )
      },
    },
    {
      name: "a part of the three headers is signature_invalid",
      run: async (probe) => {
        const headers = { ...(await probe.signature(path, body)), "x-svc-nonce": undefined }
        expectError(await probe.send(path, { body, headers }), "signature_invalid")
      },
    },
    {
      name: "an old signature is signature_invalid",
      run: async (probe) => {
        const headers = {
          ...(await probe.signature(path, body)),
          "x-svc-ts": String(Math.floor(Date.now() / 1000) - 3600),
        }
        expectError(await probe.send(path, { body, headers }), "signature_invalid")
      },
    },
  ],
}
