import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const client = process.env.MUSTER_CLIENT_TS;
if (!client) throw new Error('MUSTER_CLIENT_TS says where the package muster-client is built');

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',  // a muster-host serves the page at /w/NAME/
  resolve: { alias: { 'muster-client': client + '/index.js' } },
  // The server allows no scripts, styles or pictures that are written into the page itself.
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 800,
  },
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact' },
});
