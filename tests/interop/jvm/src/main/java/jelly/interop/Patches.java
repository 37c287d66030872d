package jelly.interop;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.jena.rdfpatch.RDFPatch;
import org.apache.jena.rdfpatch.RDFPatchOps;

/** RDF Patch as Jena reads and writes it. */
final class Patches {
    private Patches() {}

    static void convert(Path in, Path out) throws IOException {
        try (InputStream from = Files.newInputStream(in); OutputStream to = Files.newOutputStream(out)) {
            RDFPatch patch = isBinary(in) ? RDFPatchOps.readBinary(from) : RDFPatchOps.read(from);
            if (isBinary(out)) {
                RDFPatchOps.writeBinary(to, patch);
            } else {
                RDFPatchOps.write(to, patch);
            }
        }
    }

    private static boolean isBinary(Path path) {
        return path.toString().endsWith(".trp");
    }
}
