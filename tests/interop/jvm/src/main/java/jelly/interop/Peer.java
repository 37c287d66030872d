package jelly.interop;

import eu.neverblink.jelly.convert.jena.JenaConverterFactory;
import eu.neverblink.jelly.convert.jena.riot.JellyFormatVariant;
import eu.neverblink.jelly.convert.jena.riot.JellyLanguage;
import eu.neverblink.jelly.convert.jena.riot.JellyStreamWriter;
import eu.neverblink.jelly.core.JellyOptions;
import eu.neverblink.jelly.core.ProtoEncoder;
import eu.neverblink.jelly.core.RdfHandler;
import eu.neverblink.jelly.core.memory.EncoderAllocator;
import eu.neverblink.jelly.core.memory.RowBuffer;
import eu.neverblink.jelly.core.proto.v1.LogicalStreamType;
import eu.neverblink.jelly.core.proto.v1.PhysicalStreamType;
import eu.neverblink.jelly.core.proto.v1.RdfStreamFrame;
import eu.neverblink.jelly.core.proto.v1.RdfStreamOptions;
import eu.neverblink.jelly.core.utils.IoUtils;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;
import org.apache.jena.graph.Triple;
import org.apache.jena.riot.RDFParser;
import org.apache.jena.riot.system.StreamRDF;
import org.apache.jena.riot.system.StreamRDFBase;
import org.apache.jena.riot.system.StreamRDFLib;
import org.apache.jena.sparql.core.Quad;
import org.apache.jena.sys.JenaSystem;

/**
 * Reads and writes Jelly with Jelly-JVM, for comparison.
 *
 * <pre>
 * read   IN.jelly OUT.nq            by RIOT, as an application would; namespaces as "# prefix NAME IRI" lines
 * frames IN.jelly OUT.nq            frame by frame, with a "# frame" line after each
 * write  IN.nq OUT.jelly SETTINGS   flat, triples or quads, by RIOT's stream writer
 * group  IN.nq OUT.jelly SETTINGS   by the encoder itself: a frame ends at each "# frame" line
 * binary-read, binary-write, results: see Binary
 * count  IN                         statements of a file of any format that RIOT knows by its suffix
 * bench  IN.jelly N                 statements a second, N times after as many to warm up, as JSON
 * patch  IN OUT                     RDF Patch by Jena: text, or binary where the name ends with .trp
 * load   IN.jelly                   keeps a stream for the commands "decode" and "encode", which give its statements
 * -                                 takes such commands from standard input, separated by tabs, one a line
 * </pre>
 *
 * SETTINGS are words like "preset=small;physical=GRAPHS;logical=DATASETS;tables=8/1/1;star=true;frame=16;prefix=a:b".
 */
public final class Peer {
    private static final JenaConverterFactory CONVERTERS = JenaConverterFactory.getInstance();

    private static Loaded loaded;

    public static void main(String[] args) throws Exception {
        JenaSystem.init();
        if (!args[0].equals("-")) {
            System.out.println(run(args));
            return;
        }
        var commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = commands.readLine()) != null; ) {
            try {
                System.out.println("ok\t" + run(line.split("\t")));
            } catch (Exception | Error error) {
                System.out.println("error\t" + error.toString().replaceAll("\\s+", " "));
            }
            System.out.flush();
        }
    }

    private static String run(String[] args) throws IOException {
        switch (args[0]) {
            case "read" -> read(Path.of(args[1]), Path.of(args[2]));
            case "frames" -> readFrames(Path.of(args[1]), Path.of(args[2]));
            case "write" -> write(Path.of(args[1]), Path.of(args[2]), new Settings(args[3]));
            case "group" -> writeFrames(Path.of(args[1]), Path.of(args[2]), new Settings(args[3]));
            case "patch" -> Patches.convert(Path.of(args[1]), Path.of(args[2]));
            case "binary-read" -> Binary.read(args[1], Path.of(args[2]), Path.of(args[3]));
            case "binary-write" -> Binary.write(args[1], Path.of(args[2]), Path.of(args[3]), args[4]);
            case "results" -> Binary.results(args[1], Path.of(args[2]), args[3], Path.of(args[4]));
            case "load" -> loaded = new Loaded(Path.of(args[1]));
            case "decode" -> {
                return Long.toString(loaded.decode());
            }
            case "encode" -> {
                return Long.toString(loaded.encode());
            }
            case "count" -> {
                var counter = StreamRDFLib.count();
                RDFParser.source(Path.of(args[1])).parse(counter);
                return Long.toString(counter.count());
            }
            case "bench" -> {
                return bench(new Loaded(Path.of(args[1])), Integer.parseInt(args[2]));
            }
            default -> throw new IllegalArgumentException("unknown command " + args[0]);
        }
        return "";
    }

    /** What a stream to be written shall be like. */
    private static final class Settings {
        final RdfStreamOptions options;
        final int frameSize;
        final List<String[]> prefixes = new ArrayList<>();

        Settings(String text) {
            Map<String, String> given = new HashMap<>();
            for (String word : text.split(";")) {
                String[] pair = word.split("=", 2);
                if (pair[0].equals("prefix")) {
                    prefixes.add(pair[1].split(":", 2));
                } else {
                    given.put(pair[0], pair[1]);
                }
            }
            boolean small = given.getOrDefault("preset", "big").equals("small");
            var made = (small ? JellyOptions.SMALL_STRICT : JellyOptions.BIG_STRICT).clone()
                .setPhysicalType(PhysicalStreamType.valueOf(given.get("physical")))
                .setLogicalType(LogicalStreamType.valueOf(given.getOrDefault("logical", "UNSPECIFIED")))
                .setRdfStar(Boolean.parseBoolean(given.getOrDefault("star", "false")))
                .setVersion(prefixes.isEmpty() ? 1 : 2);
            if (given.containsKey("tables")) {
                String[] sizes = given.get("tables").split("/");
                made.setMaxNameTableSize(Integer.parseInt(sizes[0]))
                    .setMaxPrefixTableSize(Integer.parseInt(sizes[1]))
                    .setMaxDatatypeTableSize(Integer.parseInt(sizes[2]));
            }
            options = made;
            frameSize = Integer.parseInt(given.getOrDefault("frame", "256"));
        }

        boolean ofQuads() {
            return options.getPhysicalType() != PhysicalStreamType.TRIPLES;
        }
    }

    // ---- Jelly to text

    private static RDFParser reader(InputStream in) {
        return RDFParser.create().source(in).forceLang(JellyLanguage.JELLY).build();
    }

    private static void read(Path in, Path out) throws IOException {
        try (InputStream from = Files.newInputStream(in); OutputStream to = Files.newOutputStream(out)) {
            reader(from).parse(new Text.Writer(to));
        }
    }

    private static void readFrames(Path in, Path out) throws IOException {
        try (InputStream from = Files.newInputStream(in); OutputStream to = Files.newOutputStream(out)) {
            Text.Writer text = new Text.Writer(to);
            var decoder = CONVERTERS.anyStatementDecoder(new RdfHandler.AnyStatementHandler<Node>() {
                @Override
                public void handleNamespace(String name, Node namespace) {
                    text.prefix(name, namespace.getURI());
                }

                @Override
                public void handleTriple(Node s, Node p, Node o) {
                    text.triple(Triple.create(s, p, o));
                }

                @Override
                public void handleQuad(Node s, Node p, Node o, Node g) {
                    text.quad(Quad.create(g, s, p, o));
                }
            }, JellyOptions.DEFAULT_SUPPORTED_OPTIONS);
            IoUtils.readStream(from, RdfStreamFrame::parseDelimitedFrom, frame -> {
                frame.getRows().forEach(decoder::ingestRow);
                text.comment("frame");
            });
            text.finish();
        }
    }

    // ---- text to Jelly

    private static void write(Path in, Path out, Settings settings) throws IOException {
        try (OutputStream to = Files.newOutputStream(out)) {
            StreamRDF writer = streamWriter(settings, to);
            writer.start();
            settings.prefixes.forEach(prefix -> writer.prefix(prefix[0], prefix[1]));
            for (String line : Files.readAllLines(in)) {
                Text.parse(line, settings.ofQuads(), writer);
            }
            writer.finish();
        }
    }

    private static StreamRDF streamWriter(Settings settings, OutputStream out) {
        var variant = JellyFormatVariant.builder()
            .options(settings.options)
            .frameSize(settings.frameSize)
            .enableNamespaceDeclarations(!settings.prefixes.isEmpty())
            .isDelimited(true)
            .build();
        return JellyStreamWriter.create(CONVERTERS, variant, out);
    }

    private static void writeFrames(Path in, Path out, Settings settings) throws IOException {
        try (OutputStream to = Files.newOutputStream(out)) {
            FrameWriter writer = new FrameWriter(settings, to);
            for (String line : Files.readAllLines(in)) {
                if (line.equals("# frame")) {
                    writer.endFrame();
                } else {
                    Text.parse(line, settings.ofQuads(), writer);
                }
            }
        }
    }

    /** Frames that end where the caller says, in each of the physical types. */
    private static final class FrameWriter extends StreamRDFBase {
        private final boolean graphs;
        private final OutputStream out;
        private final RowBuffer rows = RowBuffer.newLazyImmutable();
        private final ProtoEncoder<Node> encoder;
        private boolean inGraph;
        private Node graph;

        FrameWriter(Settings settings, OutputStream out) {
            this.out = out;
            graphs = settings.options.getPhysicalType() == PhysicalStreamType.GRAPHS;
            encoder = CONVERTERS.encoder(ProtoEncoder.Params.of(
                settings.options, !settings.prefixes.isEmpty(), rows, EncoderAllocator.newHeapAllocator()
            ));
            settings.prefixes.forEach(p -> encoder.handleNamespace(p[0], NodeFactory.createURI(p[1])));
        }

        @Override
        public void triple(Triple triple) {
            encoder.handleTriple(triple.getSubject(), triple.getPredicate(), triple.getObject());
        }

        @Override
        public void quad(Quad quad) {
            Node g = quad.getGraph();
            if (!graphs) {
                encoder.handleQuad(quad.getSubject(), quad.getPredicate(), quad.getObject(), g);
                return;
            }
            if (!inGraph || !Objects.equals(g, graph)) {
                endGraph();
                encoder.handleGraphStart(g);
                inGraph = true;
                graph = g;
            }
            encoder.handleTriple(quad.getSubject(), quad.getPredicate(), quad.getObject());
        }

        private void endGraph() {
            if (inGraph) {
                encoder.handleGraphEnd();
                inGraph = false;
            }
        }

        void endFrame() throws IOException {
            endGraph();
            RdfStreamFrame.Mutable frame = RdfStreamFrame.newInstance();
            rows.forEach(frame::addRows);
            frame.writeDelimitedTo(out);
            rows.clear();
        }
    }

    // ---- speed

    /** A stream held in memory, to be decoded and encoded again and again. */
    private static final class Loaded {
        private final byte[] data;
        private final List<Object> statements = new ArrayList<>();
        private final Settings settings;

        Loaded(Path in) throws IOException {
            data = Files.readAllBytes(in);
            reader(new ByteArrayInputStream(data)).parse(new StreamRDFBase() {
                @Override
                public void triple(Triple triple) {
                    statements.add(triple);
                }

                @Override
                public void quad(Quad quad) {
                    statements.add(quad);
                }
            });
            boolean triples = statements.get(0) instanceof Triple;
            settings = new Settings("star=true;physical=" + (triples ? "TRIPLES" : "QUADS"));
        }

        long decode() {
            var counter = StreamRDFLib.count();
            reader(new ByteArrayInputStream(data)).parse(counter);
            return counter.count();
        }

        long encode() {
            StreamRDF writer = streamWriter(settings, OutputStream.nullOutputStream());
            writer.start();
            for (Object statement : statements) {
                if (statement instanceof Triple triple) {
                    writer.triple(triple);
                } else {
                    writer.quad((Quad) statement);
                }
            }
            writer.finish();
            return statements.size();
        }
    }

    private static String bench(Loaded loaded, int n) {
        List<Long> decoded = new ArrayList<>();
        List<Long> encoded = new ArrayList<>();
        for (int i = 0; i < 2 * n; i++) {
            if (i == n) {  // until here the compiler warmed up
                decoded.clear();
                encoded.clear();
            }
            long start = System.nanoTime();
            long count = loaded.decode();
            decoded.add(count * 1_000_000_000L / (System.nanoTime() - start));
            start = System.nanoTime();
            count = loaded.encode();
            encoded.add(count * 1_000_000_000L / (System.nanoTime() - start));
        }
        return "{\"statements\": " + loaded.statements.size() + ", \"decode\": " + decoded + ", \"encode\": " + encoded + "}";
    }
}
