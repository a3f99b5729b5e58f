import { buildRoutes } from './build-routes.ts';
import { fileRoutes } from './file-routes.ts';
import { healthRoutes } from './health-routes.ts';
import { hostRoutes } from './host-routes.ts';
import { imageRoutes } from './image-routes.ts';
import { networkRoutes } from './network-routes.ts';
import { planRoutes } from './plan-routes.ts';
import { poolRoutes } from './pool-routes.ts';
import { portRoutes } from './port-routes.ts';
import { processRoutes } from './process-routes.ts';
import { profileRoutes } from './profile-routes.ts';
import type { IsJson, Route } from './route.ts';
import { routeRoutes } from './route-routes.ts';
import { sandboxRoutes } from './sandbox-routes.ts';
import { secretRoutes } from './secret-routes.ts';
import { snapshotContentRoutes } from './snapshot-content-routes.ts';
import { snapshotRoutes } from './snapshot-routes.ts';
import { systemRoutes } from './system-routes.ts';
import { toolRoutes } from './tool-routes.ts';

/** Every route of the API by its name. The name is the verb that the SDK, the CLI and the server's handlers share. */
export const routes = {
  ...sandboxRoutes,
  ...processRoutes,
  ...fileRoutes,
  ...snapshotRoutes,
  ...snapshotContentRoutes,
  ...toolRoutes,
  ...networkRoutes,
  ...portRoutes,
  ...planRoutes,
  ...buildRoutes,
  ...imageRoutes,
  ...poolRoutes,
  ...profileRoutes,
  ...routeRoutes,
  ...hostRoutes,
  ...healthRoutes,
  ...secretRoutes,
  ...systemRoutes,
} as const satisfies Record<string, Route>;

export type RouteName = keyof typeof routes;
export type RouteOf<N extends RouteName> = (typeof routes)[N];
export const routeNames = Object.keys(routes) as RouteName[];

/** Routes whose body and answer are JSON. */
export type JsonRouteName = { [N in RouteName]: IsJson<RouteOf<N>> extends true ? N : never }[RouteName];
export type WebSocketRouteName = { [N in RouteName]: RouteOf<N> extends { webSocket: true } ? N : never }[RouteName];
