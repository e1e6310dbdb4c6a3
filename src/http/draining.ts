/** Whether this node is shutting down: readiness then fails, while running exchanges finish. */
import { Context, Layer } from "effect"

export class Draining extends Context.Service<
  Draining,
  { readonly isDraining: () => boolean; readonly begin: () => void }
>()("weir/http/Draining") {
  static readonly layer = Layer.sync(Draining, () => {
    let draining = false
    return Draining.of({
      isDraining: () => draining,
      begin: () => {
        draining = true
      },
    })
  })
}
