import type { FastifyInstance } from 'fastify';
import type { ApiContext } from './handler.ts';

/** For supervisors and load balancers: alive, ready, and the numbers. They tell nothing about anybody. */
export function registerHealth(app: FastifyInstance, context: ApiContext): void {
  app.get('/healthz', (_, reply) => reply.send({ ok: true }));
  app.get('/readyz', async (_, reply) => {
    const reasons = context.notReady();
    await context.store.ping().catch((error: Error) => reasons.push(error.message));
    return reply.code(reasons.length === 0 ? 200 : 503).send({ ready: reasons.length === 0, reasons });
  });
  app.get('/metrics', async (_, reply) => {
    const { metrics, health } = context;
    metrics.health(await health.look());
    return reply.type(metrics.contentType).send(await metrics.render());
  });
}
