// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.architecture;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * A directed graph of names without loops.
 *
 * <p><b>Threading:</b> none.
 */
final class Graph {
    private final Map<String, Set<String>> targets = new TreeMap<>();

    void addNode(String node) {
        targets.computeIfAbsent(node, name -> new TreeSet<>());
    }

    void addArrow(String from, String to) {
        addNode(from);
        addNode(to);
        if (!from.equals(to)) {
            targets.getOrDefault(from, Set.of()).add(to);
        }
    }

    Set<String> nodes() {
        return targets.keySet();
    }

    Set<String> targetsOf(String node) {
        return targets.getOrDefault(node, Set.of());
    }

    int arrows() {
        return targets.values().stream().mapToInt(Set::size).sum();
    }

    /** Returns the graph of those nodes alone, with the arrows between them. */
    Graph restrictedTo(Set<String> kept) {
        Graph part = new Graph();
        for (String node : kept) {
            part.addNode(node);
            targetsOf(node).stream().filter(kept::contains).forEach(target -> part.addArrow(node, target));
        }
        return part;
    }

    /**
     * Returns the sets of two or more nodes that all reach each other, largest first.
     *
     * <p><b>Source:</b> Tarjan, Depth-first search and linear graph algorithms, 1972.
     */
    List<Set<String>> cycles() {
        Search search = new Search();
        targets.keySet().forEach(search::visit);
        search.found.sort((left, right) -> right.size() - left.size());
        return search.found;
    }

    private final class Search {
        private final Map<String, Integer> index = new HashMap<>();
        private final Map<String, Integer> lowest = new HashMap<>();
        private final Deque<String> path = new ArrayDeque<>();
        private final List<Set<String>> found = new ArrayList<>();

        /** Returns the lowest index that a node reaches. */
        int visit(String node) {
            Integer known = lowest.get(node);
            if (known != null) {
                return known;
            }
            int own = index.size();
            index.put(node, own);
            lowest.put(node, own);
            path.push(node);
            int low = own;
            for (String target : targetsOf(node)) {
                Integer seen = index.get(target);
                if (seen == null) {
                    low = Math.min(low, visit(target));
                } else if (path.contains(target)) {
                    low = Math.min(low, seen);
                }
            }
            lowest.put(node, low);
            if (low == own) {
                takeComponent(node);
            }
            return low;
        }

        private void takeComponent(String root) {
            Set<String> component = new TreeSet<>();
            String node;
            do {
                node = path.pop();
                component.add(node);
            } while (!node.equals(root));
            if (component.size() > 1) {
                found.add(component);
            }
        }
    }
}
