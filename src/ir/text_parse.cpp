#include <cctype>
#include <map>

#include "ir/constant_text.h"
#include "ir/graph.h"
#include "ir/infer.h"
#include "ir/text.h"
#include "ir/text_cursor.h"
#include "ir/type_order.h"
#include "ops/field_text.h"

namespace strop::ir {

namespace {

/// "?3_0r5.1" → 5: the number of the node whose inference made the symbol.
std::optional<int32_t> number_of_maker(const std::string& symbol) {
  const size_t dot = symbol.rfind('.');
  if (symbol.empty() || symbol[0] != '?' || dot == std::string::npos) return std::nullopt;
  size_t begin = dot;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(symbol[begin - 1]))) --begin;
  const auto number = ops::parse_integer(std::string_view(symbol).substr(begin, dot - begin));
  return number ? std::optional(static_cast<int32_t>(*number)) : std::nullopt;
}

void collect_symbols(const Type& type, std::vector<std::string>& symbols) {
  if (type.element) collect_symbols(*type.element, symbols);
  if (!type.is_tensor() || !type.tensor.has_rank()) return;
  for (const Dim& dim : type.tensor.dims()) {
    for (std::string& symbol : dim.symbols()) symbols.push_back(std::move(symbol));
  }
}

/// Gives the values of a region the types that its text declared: inference by the outer node began afresh.
void restore_types(Graph& graph, const Graph& declared) {
  for (size_t i = 0; i < declared.value_count(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (compatible(graph.value(id).type, declared.value(id).type)) graph.value(id).type = declared.value(id).type;
  }
  for (const NodeId id : graph.order()) {
    const auto& regions = graph.node(id).regions;
    for (size_t i = 0; i < regions.size(); ++i) restore_types(*regions[i], *declared.node(id).regions[i]);
  }
}

class Parser {
 public:
  Parser(std::string_view text, const ops::Catalogue& catalogue, const ConstantTable& constants)
      : cursor_(text), catalogue_(catalogue), constants_(constants) {}

  Result<std::shared_ptr<Graph>> parse() {
    STROP_ASSIGN(auto graph, parse_graph("graph"));
    if (!cursor_.at_end()) return cursor_.fail("expected nothing after the graph");
    return graph;
  }

 private:
  using Labels = std::map<std::string, ValueId>;

  Result<std::shared_ptr<Graph>> parse_graph(std::string_view keyword) {
    auto graph = std::make_shared<Graph>();
    Labels labels;
    STROP_TRY(cursor_.expect(keyword));
    STROP_ASSIGN(graph->name, cursor_.quoted());
    STROP_TRY(cursor_.expect("("));
    while (!cursor_.take(")")) {
      STROP_ASSIGN(std::string name, cursor_.name());
      STROP_TRY(cursor_.expect(":"));
      STROP_ASSIGN(Type type, parse_one_type(cursor_.until(",)")));
      const ValueId id = graph->add_input(name, std::move(type));
      STROP_TRY(define(labels, label_of(name), id));
      cursor_.take(",");
    }
    STROP_TRY(cursor_.expect("->"));
    STROP_TRY(cursor_.expect("("));
    std::vector<std::pair<std::string, std::string>> results;  // port, label
    while (!cursor_.take(")")) {
      STROP_ASSIGN(std::string name, cursor_.name());
      STROP_TRY(cursor_.expect("="));
      STROP_ASSIGN(std::string label, parse_label());
      results.emplace_back(std::move(name), std::move(label));
      cursor_.take(",");
    }
    STROP_TRY(cursor_.expect("{"));
    while (!cursor_.take("}")) STROP_TRY(parse_line(*graph, labels));
    for (auto& [name, label] : results) {
      STROP_ASSIGN(const ValueId id, look_up(labels, label));
      graph->outputs.push_back({std::move(name), id});
    }
    return graph;
  }

  Result<void> parse_line(Graph& graph, Labels& labels) {
    std::vector<std::string> results;
    do {
      STROP_ASSIGN(std::string label, parse_label());
      results.push_back(std::move(label));
    } while (cursor_.take(","));
    STROP_TRY(cursor_.expect("="));
    const std::string_view op = cursor_.word();
    if (op == "constant") return parse_constant(graph, labels, results[0]);
    return parse_node(graph, labels, results, op);
  }

  Result<void> parse_constant(Graph& graph, Labels& labels, const std::string& label) {
    const std::string_view type_text = cursor_.until(" \n");
    STROP_ASSIGN(const Type type, parse_one_type(type_text));
    if (!type.is_tensor() || !type.tensor.is_static()) return cursor_.fail("a constant needs a static tensor type");
    Constant constant;
    if (cursor_.take("{")) {
      auto tensor = parse_elements(type.tensor, cursor_.until("}"));
      if (!tensor.ok()) return cursor_.fail(tensor.error().message);
      constant.tensor = std::move(*tensor);
      STROP_TRY(cursor_.expect("}"));
    } else {
      const std::string digest(cursor_.until(" \n"));
      const auto found = constants_.find(digest);
      if (found == constants_.end()) {
        return cursor_.fail(
            fmt::format("constant {} is only a digest ({}); its tensor must be given with the text", label, digest));
      }
      constant.tensor = found->second;
    }
    if (cursor_.take("origins(")) {
      STROP_ASSIGN(constant.origins, parse_strings());
    }
    if (cursor_.take("recipe(")) {
      STROP_ASSIGN(const auto recipe, parse_strings());
      constant.recipe = recipe.empty() ? "" : recipe[0];
    }
    return define(labels, label, graph.add_constant(std::move(constant), name_of(label)));
  }

  Result<void> parse_node(Graph& graph, Labels& labels, const std::vector<std::string>& results, std::string_view op) {
    Graph::NewNode node;
    node.op = catalogue_.find(op);
    if (!node.op) return cursor_.fail(fmt::format("no operator '{}'", op));
    node.output_count = results.size();
    STROP_TRY(cursor_.expect("("));
    while (!cursor_.take(")")) {
      ValueId operand = kNone;
      if (!cursor_.take("_")) {
        STROP_ASSIGN(const std::string label, parse_label());
        STROP_ASSIGN(operand, look_up(labels, label));
      }
      node.inputs.push_back(operand);
      cursor_.take(",");
    }
    STROP_TRY(parse_attrs(node));
    STROP_TRY(parse_late(node));
    if (cursor_.take("from(")) {
      STROP_ASSIGN(node.sources, parse_strings());
    }
    STROP_TRY(cursor_.expect(":"));
    std::vector<Type> types;
    for (const std::string_view text : ops::split_top_level(cursor_.until("#", true), ',')) {
      STROP_ASSIGN(Type type, parse_one_type(text));
      types.push_back(std::move(type));
    }
    if (types.size() != results.size())
      return cursor_.fail(fmt::format("{} results, but {} types", results.size(), types.size()));
    std::vector<std::shared_ptr<Graph>> declared_regions;
    while (node.op->has_regions && cursor_.peek() == 'r') {
      STROP_ASSIGN(auto region, parse_graph("region"));
      declared_regions.push_back(region->clone());
      node.regions.push_back(std::move(region));
    }
    node.unbacked_number = find_number(graph, node, types);
    STROP_TRY(add(graph, std::move(node), types, declared_regions));
    const auto& outputs = graph.node(graph.order().back()).outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      graph.value(outputs[i]).name = name_of(results[i]);
      STROP_TRY(define(labels, results[i], outputs[i]));
    }
    return {};
  }

  Result<void> add(Graph& graph, Graph::NewNode node, const std::vector<Type>& types,
                   const std::vector<std::shared_ptr<Graph>>& declared_regions) {
    const std::string_view op = node.op->name;
    auto added = graph.add_node(std::move(node));
    if (!added.ok()) return cursor_.fail(fmt::format("{}: {}", op, added.error().message));
    const Node& made = graph.node(*added);
    for (size_t i = 0; i < types.size(); ++i) {
      Type& type = graph.value(made.outputs[i]).type;
      if (!compatible(type, types[i])) {
        return cursor_.fail(fmt::format("result {} of {} is {}, not {}", i, op, to_string(type), to_string(types[i])));
      }
      type = types[i];
    }
    for (size_t i = 0; i < declared_regions.size(); ++i) restore_types(*made.regions[i], *declared_regions[i]);
    return {};
  }

  /// The node's number as its results' types show it, so that inference makes the same symbols again.
  static int32_t find_number(const Graph& graph, const Graph::NewNode& node, const std::vector<Type>& types) {
    std::vector<std::string> known;
    std::vector<std::string> symbols;
    for (const ValueId input : node.inputs) {
      if (input != kNone) collect_symbols(graph.value(input).type, known);
    }
    for (const Type& type : types) collect_symbols(type, symbols);
    for (const std::string& symbol : symbols) {
      const bool inherited = std::find(known.begin(), known.end(), symbol) != known.end();
      if (const auto number = number_of_maker(symbol); number && !inherited) return *number;
    }
    return kNone;
  }

  Result<void> parse_attrs(Graph::NewNode& node) {
    node.attrs = node.op->make_attrs();
    if (!cursor_.take("{")) return {};
    auto attrs = node.attrs.parse(cursor_.until("}"));
    if (!attrs.ok()) return cursor_.fail(fmt::format("{}: {}", node.op->name, attrs.error().message));
    node.attrs = std::move(*attrs);
    return cursor_.expect("}");
  }

  Result<void> parse_late(Graph::NewNode& node) {
    if (!cursor_.take("late(")) return {};
    while (!cursor_.take(")")) {
      ops::LateField late;
      late.field = cursor_.word();
      STROP_TRY(cursor_.expect("="));
      STROP_TRY(cursor_.expect("operand"));
      const auto operand = ops::parse_integer(cursor_.word());
      if (!operand) return cursor_.fail("expected the number of an operand");
      late.operand = static_cast<int32_t>(*operand);
      node.late.push_back(std::move(late));
      cursor_.take(",");
    }
    return {};
  }

  Result<std::vector<std::string>> parse_strings() {
    std::vector<std::string> strings;
    while (!cursor_.take(")")) {
      STROP_ASSIGN(std::string text, cursor_.quoted());
      strings.push_back(std::move(text));
      cursor_.take(",");
    }
    return strings;
  }

  Result<Type> parse_one_type(std::string_view text) const {
    auto type = parse_type(text);
    if (!type.ok()) return cursor_.fail(type.error().message);
    return type;
  }

  // A label is the name, with '%' before the numbers of nameless values: those cannot be mixed up with names.
  static std::string label_of(const std::string& name) { return "\"" + name; }
  static std::string name_of(const std::string& label) { return label[0] == '"' ? label.substr(1) : ""; }

  Result<std::string> parse_label() {
    STROP_TRY(cursor_.expect("%"));
    if (cursor_.peek() == '"') {
      STROP_ASSIGN(const std::string name, cursor_.quoted());
      return label_of(name);
    }
    const std::string word(cursor_.word());
    if (word.empty()) return cursor_.fail("expected the name of a value after '%'");
    return is_plain_name(word) ? label_of(word) : "%" + word;
  }

  Result<void> define(Labels& labels, const std::string& label, ValueId id) const {
    if (labels.emplace(label, id).second) return {};
    return cursor_.fail(fmt::format("value '{}' is defined twice", label.substr(1)));
  }

  Result<ValueId> look_up(const Labels& labels, const std::string& label) const {
    const auto found = labels.find(label);
    if (found != labels.end()) return found->second;
    return cursor_.fail(fmt::format("no value '{}' before this", label.substr(1)));
  }

  TextCursor cursor_;
  const ops::Catalogue& catalogue_;
  const ConstantTable& constants_;
};

}  // namespace

Result<std::shared_ptr<Graph>> parse_text(std::string_view text, const ops::Catalogue& catalogue,
                                          const ConstantTable& constants) {
  return Parser(text, catalogue, constants).parse();
}

}  // namespace strop::ir
