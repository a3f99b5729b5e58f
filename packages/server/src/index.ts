export { type ControlPlane, openControlPlane } from './control-plane.ts';
export { DataFolder } from './data-folder.ts';
export * from './data-place.ts';
export * from './documents/read-document.ts';
export * from './drivers/driver.ts';
export { type RunningServer, type ServerOptions, startServer } from './main.ts';
export * from './storage/storage.ts';
export { type Database, openPostgres, openSqlite } from './store/database.ts';
export { migrate } from './store/migrate.ts';
