/** Imported by scripts that print much: ends them quietly when the reader has exited, as in `| head`. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});
