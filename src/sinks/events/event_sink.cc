#include "sinks/events/event_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/strings.h"
#include "sinks/events/messages.h"
#include "sinks/rows/rows.h"

namespace kollect::sinks::events {

namespace {

using inventory::RowView;
using What = ExportReport::Change::What;

constexpr std::size_t kBodyReserve = 4096;  ///< for what a message has beside its envelope
constexpr std::chrono::seconds kProbeDeadline{15};
constexpr std::size_t kNamedRows = 10;  ///< in warnings of one pass

/// What an unconfirmed change was sent as.
struct Attempt {
  std::uint64_t content = 0;
  base::WallTime at;
};

/// What this process knows of one inventory in the topic.
struct Memory {
  std::string confirmed;  ///< of the last state that the broker has confirmed; empty: none
  std::string begun;      ///< of a document or bracket that it has not confirmed
  base::WallTime begun_at;
  std::unordered_map<std::uint64_t, Attempt> tried;  ///< changes that it has not confirmed, by row
  bool gap = false;                                  ///< earlier messages may be lost
  /// All rows of the last confirmed pass, where the exporter cannot tell what changes
  /// (byResourceUID); it copies none of them.
  std::optional<inventory::RowSet> rows;
};

std::uint64_t row_hash(const RowView& row) {
  std::string text(row.target_namespace);
  text.append(1, '\0').append(row.target_name).append(1, '\0').append(rows::source_uid(row));
  return base::xxh64(text);
}

/// Zero for a removed row.
std::uint64_t content_hash(const inventory::RowChange& change) {
  if (change.removed) return 0;
  std::string text;
  inventory::append_row_json(text, change.row);
  return base::xxh64(text);
}

/// What of the set could not be read; empty: everything was.
std::string unread_text(const Export& head) {
  std::vector<std::string> unread = head.keep_targets;
  for (const std::string& ns : head.keep_namespaces) unread.push_back("namespace " + ns);
  for (const std::string& part : texts_of(head.keep_parts)) unread.push_back(part);
  return base::join(unread, ", ");
}

base::Error rows_needed(const Export& head) {
  return base::retryable(fmt::format("{}/{}: all rows are needed, the topic or stream is new",
                                     head.inventory.ns, head.inventory.name),
                         "rows-needed");
}

class EventSink : public Sink {
 public:
  explicit EventSink(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {}

  base::Result<> probe(const base::Context& context) override {
    return transport_->probe(context.with_timeout(kProbeDeadline));
  }

 protected:
  Memory& memory_of(const Export& head) {
    const auto [place, is_new] = memories_.try_emplace(
        fmt::format("{}\n{}\n{}", head.inventory.ns, head.inventory.name, head.cluster));
    if (is_new) place->second.gap = lost_;
    return place->second;
  }
  /// Asked by other threads too, while a pass is under way.
  [[nodiscard]] bool any_gap() const { return any_gap_; }
  Transport& transport() { return *transport_; }

  /// Connects; notes when what was sent earlier may be lost.
  base::Result<> open(const base::Context& context, const Export& head) {
    auto opened = transport_->open(context, head.inventory, head.cluster);
    if (!transport_->take_created()) return opened;
    lost_ = true;
    for (auto& [place, memory] : memories_) {
      memory.gap = true;
      memory.confirmed.clear();
    }
    any_gap_ = true;
    return opened;
  }

  /// The time of the first sending of what `print` stands for. From now on, until it is confirmed,
  /// nobody knows what the broker has.
  static base::WallTime begin(Memory& memory, const Export& head, const std::string& print) {
    memory.confirmed.clear();
    if (memory.begun != print) {
      memory.begun = print;
      memory.begun_at = head.exported_at;
    }
    return memory.begun_at;
  }
  void confirm(Memory& memory, std::string print) {
    memory.confirmed = std::move(print);
    memory.begun.clear();
    memory.tried.clear();
    memory.gap = false;
    any_gap_ = std::ranges::any_of(memories_, [](const auto& one) { return one.second.gap; });
  }

  base::Result<> send(const base::Context& context, Message message, ExportReport& report) {
    report.bytes += message.body ? message.body->size() : 0;
    return transport_->send(context, std::move(message));
  }

 private:
  std::unique_ptr<Transport> transport_;
  std::map<std::string, Memory> memories_;
  bool lost_ = false;
  std::atomic<bool> any_gap_ = false;
};

/// Whole documents.
class DocumentSink final : public EventSink {
 public:
  using EventSink::EventSink;

  base::Result<ExportReport> export_all(const base::Context& context,
                                        const std::vector<Export>& exports, bool dry_run) override {
    ExportReport report;
    for (const Export& exp : exports) {
      const std::string print = exp.rows->checksum();
      if (dry_run) {
        KL_TRY(look(exp, print, report));
      } else {
        KL_TRY(write(context, exp, print, true, report));
      }
    }
    return report;
  }

  base::Result<ExportReport> apply(const base::Context& context, const Pass& pass) override {
    const inventory::RowSet rows = pass.rows->to_row_set();
    Export head = pass.head;
    head.rows = &rows;
    ExportReport report;
    KL_TRY(write(context, head, pass.set_hash, pass.resumed, report));
    return report;
  }

 private:
  static std::string content_of(const Export& head, const std::string& rows) {
    return fmt::format("{} {} {}\n", rows, head.generation, unread_text(head));
  }
  static void warn_of_unread(const Export& head, ExportReport& report) {
    const std::string unread = unread_text(head);
    if (unread.empty()) return;
    report.warnings.push_back(fmt::format(
        "{}/{}: {} cannot be read; the document says so, and whoever reads it keeps those rows",
        head.inventory.ns, head.inventory.name, unread));
  }

  base::Result<> write(const base::Context& context, const Export& head, const std::string& rows,
                       bool may_skip, ExportReport& report) {
    KL_TRY(open(context, head));
    warn_of_unread(head, report);
    Memory& memory = memory_of(head);
    const std::size_t most = transport().max_body();
    const std::size_t reserve = kBodyReserve + 2 * unread_text(head).size();
    const std::size_t room = most > 2 * reserve ? most - reserve : most / 2;
    const std::size_t ceiling = head.max_bytes == 0 ? room : std::min(head.max_bytes, room);
    const std::string print = content_of(head, rows) + std::to_string(ceiling);
    if (may_skip && memory.confirmed == print) {
      ++report.unchanged;
      return {};
    }
    KL_TRY(send_parts(context, head, ceiling, begin(memory, head, print), report));
    confirm(memory, print);
    return {};
  }

  base::Result<> send_parts(const base::Context& context, const Export& head, std::size_t ceiling,
                            base::WallTime at, ExportReport& report) {
    inventory::EnvelopeMeta meta{.generation = head.generation,
                                 .part_index = std::nullopt,
                                 .part_total = std::nullopt,
                                 .exported_at = at,
                                 .cluster = head.cluster};
    KL_ASSIGN(const auto parts, inventory::cut_parts(*head.rows, meta, ceiling));
    const auto total = static_cast<std::uint32_t>(parts.size());
    for (std::uint32_t i = 0; i < total; ++i) {
      Document document;
      if (total > 1) {
        document.part = i + 1;
        document.parts = total;
        meta.part_index = document.part;
        meta.part_total = total;
      }
      document.rows = parts[i].last - parts[i].first;
      document.envelope = inventory::envelope_json(*head.rows, parts[i].first, parts[i].last, meta);
      KL_TRY(send(context, document_message(head, at, document), report));
      ++report.written;
    }
    return transport().flush(context);
  }

  /// What a write would do, as far as it can be told without the broker.
  base::Result<> look(const Export& head, const std::string& rows, ExportReport& report) {
    warn_of_unread(head, report);
    const Memory& memory = memory_of(head);
    const bool same = memory.confirmed.starts_with(content_of(head, rows));
    const What what = same                       ? What::kUnchanged
                      : memory.confirmed.empty() ? What::kCreate
                                                 : What::kUpdate;
    const inventory::EnvelopeMeta meta{.generation = head.generation,
                                       .part_index = std::nullopt,
                                       .part_total = std::nullopt,
                                       .exported_at = head.exported_at,
                                       .cluster = head.cluster};
    KL_ASSIGN(const auto parts, inventory::cut_parts(*head.rows, meta, head.max_bytes));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      std::string path = fmt::format("{}/{}", head.inventory.ns, head.inventory.name);
      if (parts.size() > 1) path += fmt::format(" part {} of {}", i + 1, parts.size());
      report.changes.push_back({what, std::move(path), parts[i].last - parts[i].first, 0});
      ++(same ? report.unchanged : report.written);
    }
    return {};
  }
};

/// One message per changed row.
class ChangeSink final : public EventSink {
 public:
  using EventSink::EventSink;

  [[nodiscard]] bool takes_changes() const override { return !any_gap(); }

  base::Result<ExportReport> export_all(const base::Context& context,
                                        const std::vector<Export>& exports, bool dry_run) override {
    ExportReport report;
    for (const Export& exp : exports) {
      if (dry_run) {
        report.written += exp.rows->size();
        report.changes.push_back({What::kUpdate,
                                  fmt::format("{}/{}", exp.inventory.ns, exp.inventory.name),
                                  exp.rows->size(), 0});
        continue;
      }
      KL_TRY(open(context, exp));
      KL_TRY(send_all(context, exp, *exp.rows, exp.rows->checksum(), report));
    }
    return report;
  }

  base::Result<ExportReport> apply(const base::Context& context, const Pass& pass) override {
    KL_TRY(open(context, pass.head));
    Memory& memory = memory_of(pass.head);
    ExportReport report;
    const inventory::ChangeSet* changes = pass.changes != nullptr ? pass.changes : pass.since;
    if (changes != nullptr && !memory.gap) {
      // Neither is the broker's state any more: some of these, and maybe not all, go there now.
      memory.confirmed.clear();
      memory.rows.reset();
      KL_TRY(send_changes(context, pass.head, *changes, report));
      memory.confirmed = pass.set_hash;
      return report;
    }
    if (pass.resumed && !memory.gap && memory.confirmed == pass.set_hash) return report;
    if (pass.rows == nullptr) return rows_needed(pass.head);
    inventory::RowSet rows = pass.rows->to_row_set();
    // A pass that failed in between has sent nobody knows what: only a bracket puts that right.
    const auto before = std::exchange(memory.rows, std::nullopt);
    if (pass.resumed && !memory.gap && before) {
      memory.confirmed.clear();
      KL_TRY(send_difference(context, pass.head, *before, rows, report));
      memory.confirmed = pass.set_hash;
    } else {
      KL_TRY(send_all(context, pass.head, rows, pass.set_hash, report));
    }
    if (pass.resumed) memory.rows = std::move(rows);
    return report;
  }

 private:
  [[nodiscard]] std::size_t limit_of(const Export& head) {
    const std::size_t most = transport().max_body();
    return head.max_bytes == 0 ? most : std::min(head.max_bytes, most);
  }

  base::Result<> send_changes(const base::Context& context, const Export& head,
                              const inventory::ChangeSet& changes, ExportReport& report) {
    Memory& memory = memory_of(head);
    ChangeEvents events(head);
    auto sent = changes.for_each([&](const inventory::RowChange& change) {
      return send_change(context, head, change, time_of(memory, change, head.exported_at), events,
                         report);
    });
    if (sent) sent = transport().flush(context);
    if (!sent) {
      remember(memory, head, changes);
      return sent;
    }
    memory.tried.clear();
    return {};
  }

  base::Result<> send_change(const base::Context& context, const Export& head,
                             const inventory::RowChange& change, base::WallTime at,
                             ChangeEvents& events, ExportReport& report) {
    const RowView& row = change.row;
    if (!change.removed) return send_upsert(context, head, row, at, events, report);
    // It may well be there still: the target cannot be read.
    if (rows::Keep(head).holds(row.target_namespace, row.target_name, row.ns)) return {};
    KL_TRY(send(context, events.erase(row, at), report));
    if (transport().wants_tombstones()) KL_TRY(send(context, events.tombstone(row), report));
    ++report.removed;
    return {};
  }

  base::Result<> send_upsert(const base::Context& context, const Export& head, const RowView& row,
                             base::WallTime at, ChangeEvents& events, ExportReport& report) {
    bool replaced = false;
    KL_TRY(send(context, events.upsert(row, at, limit_of(head), replaced), report));
    ++report.written;
    if (!replaced) return {};
    if (++report.replaced <= kNamedRows) {
      report.warnings.push_back(
          fmt::format("{}/{}: {} {}/{} of target {}/{} is larger than a message may be; its event "
                      "has no attributes, only size and hash",
                      head.inventory.ns, head.inventory.name, row.kind, row.ns, row.name,
                      row.target_namespace, row.target_name));
    }
    return {};
  }

  /// What differs between two sets, row by row.
  base::Result<> send_difference(const base::Context& context, const Export& head,
                                 const inventory::RowSet& before, const inventory::RowSet& after,
                                 ExportReport& report) {
    struct Old {
      std::uint64_t content = 0;
      std::size_t place = 0;
    };
    std::unordered_map<std::uint64_t, Old> old;
    old.reserve(before.size());
    std::size_t place = 0;
    KL_TRY(before.for_each([&](const RowView& row) -> base::Result<> {
      old[row_hash(row)] = {.content = content_hash({.removed = false, .row = row}),
                            .place = place++};
      return {};
    }));
    ChangeEvents events(head);
    KL_TRY(after.for_each([&](const RowView& row) -> base::Result<> {
      const inventory::RowChange change{.removed = false, .row = row};
      const auto found = old.find(row_hash(row));
      const bool same = found != old.end() && found->second.content == content_hash(change);
      if (found != old.end()) old.erase(found);
      if (same) return {};
      return send_change(context, head, change, head.exported_at, events, report);
    }));
    for (const auto& [hash, gone] : old) {
      KL_TRY(before.for_range(gone.place, gone.place + 1, [&](const RowView& row) {
        return send_change(context, head, {.removed = true, .row = row}, head.exported_at, events,
                           report);
      }));
    }
    return transport().flush(context);
  }

  /// When the same change was sent before and not confirmed, the time of that.
  static base::WallTime time_of(const Memory& memory, const inventory::RowChange& change,
                                base::WallTime now) {
    if (memory.tried.empty()) return now;
    const auto found = memory.tried.find(row_hash(change.row));
    const bool same = found != memory.tried.end() && found->second.content == content_hash(change);
    return same ? found->second.at : now;
  }
  static void remember(Memory& memory, const Export& head, const inventory::ChangeSet& changes) {
    std::unordered_map<std::uint64_t, Attempt> tried;
    tried.reserve(changes.size());
    (void)changes.for_each([&](const inventory::RowChange& change) -> base::Result<> {
      tried[row_hash(change.row)] = {.content = content_hash(change),
                                     .at = time_of(memory, change, head.exported_at)};
      return {};
    });
    memory.tried = std::move(tried);
  }

  /// All rows in a bracket. Its marks and rows have one time, so that no broker takes a row of it
  /// for the repetition of one outside; its end is sent when everything before is there.
  base::Result<> send_all(const base::Context& context, const Export& head,
                          const inventory::RowSet& rows, const std::string& hash,
                          ExportReport& report) {
    Memory& memory = memory_of(head);
    const bool partial = head.keeps();
    const base::WallTime at =
        begin(memory, head,
              fmt::format("{} {} {} {} {} {}", hash, head.generation, limit_of(head),
                          base::join(head.keep_targets, ","), base::join(head.keep_namespaces, ","),
                          base::join(texts_of(head.keep_parts), ",")));
    memory.tried.clear();
    ChangeEvents events(head);
    const std::string checksum = rows.checksum();
    const auto mark = [&](std::string_view type) -> base::Result<> {
      KL_TRY(send(context, events.mark(type, at, rows.size(), checksum), report));
      return transport().flush(context);
    };
    KL_TRY(mark(partial ? "partial-snapshot" : "snapshot"));
    KL_TRY(rows.for_each(
        [&](const RowView& row) { return send_upsert(context, head, row, at, events, report); }));
    KL_TRY(transport().flush(context));
    KL_TRY(mark(partial ? "partial-snapshot-end" : "snapshot-end"));
    confirm(memory, hash);
    return {};
  }
};

}  // namespace

base::Result<Mode> read_mode(const api::EventSink& sink) {
  const auto found = sink.spec.options.find("events");
  const std::string word =
      found == sink.spec.options.end() ? "" : base::to_lower(base::trim(found->second));
  if (word.empty() || word == "snapshot") return Mode::kSnapshot;
  if (word == "changes") return Mode::kChanges;
  return base::configuration(
      fmt::format("sink {}: spec.options[events] must be \"snapshot\" or \"changes\"",
                  sink.metadata.name),
      "bad-option");
}

std::unique_ptr<Sink> make_sink(Mode mode, std::unique_ptr<Transport> transport) {
  if (mode == Mode::kChanges) return std::make_unique<ChangeSink>(std::move(transport));
  return std::make_unique<DocumentSink>(std::move(transport));
}

}  // namespace kollect::sinks::events
