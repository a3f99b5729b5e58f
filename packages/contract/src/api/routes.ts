import type { Route } from './route.ts';
import { sandboxRoutes } from './sandbox-routes.ts';
import { systemRoutes } from './system-routes.ts';

/** Every route of the API by its name. The name is the verb that the SDK, the CLI and the server's handlers share. */
export const routes = { ...sandboxRoutes, ...systemRoutes } as const satisfies Record<string, Route>;

export type RouteName = keyof typeof routes;
export type RouteOf<N extends RouteName> = (typeof routes)[N];
export const routeNames = Object.keys(routes) as RouteName[];
