package jelly.interop;

import java.io.OutputStream;
import org.apache.jena.atlas.io.AWriter;
import org.apache.jena.atlas.io.IO;
import org.apache.jena.graph.Node;
import org.apache.jena.graph.NodeFactory;
import org.apache.jena.graph.Triple;
import org.apache.jena.riot.out.NodeFormatterNT;
import org.apache.jena.riot.system.StreamRDF;
import org.apache.jena.riot.system.StreamRDFBase;
import org.apache.jena.riot.tokens.TokenType;
import org.apache.jena.riot.tokens.Tokenizer;
import org.apache.jena.riot.tokens.TokenizerText;
import org.apache.jena.sparql.core.Quad;

/**
 * N-Triples and N-Quads with any term in any place and quoted triples as {@code << s p o >>} or
 * {@code <<( s p o )>>}. RIOT has only those of RDF 1.2 by now, which stand in the place of the object alone.
 */
final class Text {
    private Text() {}

    /** Hand the statement of a line on; a line of three terms is a triple unless {@code quads}. */
    static void parse(String line, boolean quads, StreamRDF to) {
        Tokenizer tokens = TokenizerText.fromString(line);
        if (!tokens.hasNext()) {
            return;
        }
        Node s = term(tokens);
        Node p = term(tokens);
        Node o = term(tokens);
        Node g = tokens.peek().hasType(TokenType.DOT) ? null : term(tokens);
        if (!tokens.next().hasType(TokenType.DOT) || tokens.hasNext()) {
            throw new IllegalArgumentException("not a statement: " + line);
        }
        if (quads) {
            to.quad(Quad.create(g, s, p, o));
        } else {
            to.triple(Triple.create(s, p, o));
        }
    }

    /** The number of terms of a line. */
    static int arity(String line) {
        Tokenizer tokens = TokenizerText.fromString(line);
        int n = 0;
        while (tokens.hasNext() && !tokens.peek().hasType(TokenType.DOT)) {
            term(tokens);
            n++;
        }
        return n;
    }

    private static Node term(Tokenizer tokens) {
        boolean object = tokens.peek().hasType(TokenType.L_TRIPLE);
        if (!object && !tokens.peek().hasType(TokenType.LT2)) {
            return tokens.next().asNode();
        }
        tokens.next();
        Node triple = NodeFactory.createTripleTerm(term(tokens), term(tokens), term(tokens));
        if (!tokens.next().hasType(object ? TokenType.R_TRIPLE : TokenType.GT2)) {
            throw new IllegalArgumentException("a quoted triple does not end");
        }
        return triple;
    }

    /** Writes what it is handed. */
    static final class Writer extends StreamRDFBase {
        private final AWriter out;
        private final NodeFormatterNT format = new NodeFormatterNT() {
            @Override
            protected void formatNodeTriple(AWriter w, Node node) {
                Triple triple = node.getTriple();
                w.print("<< ");
                put(triple.getSubject(), triple.getPredicate(), triple.getObject());
                w.print(">>");
            }
        };

        Writer(OutputStream out) {
            this.out = IO.wrapUTF8(out);
        }

        private void put(Node... terms) {
            for (Node term : terms) {
                format.format(out, term);
                out.print(" ");
            }
        }

        @Override
        public void triple(Triple triple) {
            put(triple.getSubject(), triple.getPredicate(), triple.getObject());
            out.print(".\n");
        }

        @Override
        public void quad(Quad quad) {
            put(quad.getSubject(), quad.getPredicate(), quad.getObject());
            if (quad.getGraph() != null && !quad.isDefaultGraph()) {
                put(quad.getGraph());
            }
            out.print(".\n");
        }

        @Override
        public void prefix(String name, String iri) {
            out.print("# prefix " + name + " " + iri + "\n");
        }

        void comment(String text) {
            out.print("# " + text + "\n");
        }

        @Override
        public void finish() {
            out.flush();
        }
    }
}
