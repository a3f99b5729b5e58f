export { readFacts, type ServerFacts } from './data-folder.ts';
export * from './documents/read-document.ts';
export * from './drivers/driver.ts';
export { type RunningServer, type ServerOptions, startServer } from './main.ts';
export * from './storage/storage.ts';
