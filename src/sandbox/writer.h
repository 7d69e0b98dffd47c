// Everything that changes objects: create, update, patch, delete.
#pragma once

#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "sandbox/call.h"
#include "sandbox/objects.h"
#include "sandbox/status.h"
#include "sandbox/store.h"

namespace kollect::sandbox {

/// One write at a time, so that reading, judging and writing an object are one step. Thread-safe.
class Writer {
 public:
  /// All must outlive it. uids and generated names follow `seed`.
  Writer(Store& store, Registry& registry, const base::Clock& clock, std::uint64_t seed);

  struct Written {
    Entry entry;
    bool created = false;
    bool removed = false;               ///< an update that let the last finalizer go
    std::vector<std::string> warnings;  ///< for Warning headers
  };
  Outcome<Written> create(const Call& call, base::json::Value object);
  Outcome<Written> update(const Call& call, base::json::Value object);
  Outcome<Written> patch(const Call& call);

  struct Deleted {
    Entry last;
    bool gone = false;  ///< false: it waits for its finalizers
  };
  /// `options`: DeleteOptions or null (preconditions are looked at).
  Outcome<Deleted> remove(const Call& call, const base::json::Value& options);

  /// Creates or replaces with status and without judgement of versions: for manifests that are
  /// loaded. The namespace is made when it is missing.
  Outcome<> load(const Served& served, base::json::Value object);

  /// For who writes to the store directly and must not come between.
  [[nodiscard]] std::unique_lock<std::recursive_mutex> lock() { return std::unique_lock(mutex_); }
  /// Deletes what is in a namespace that is being deleted, and then the namespace itself, as far as
  /// finalizers allow.
  void empty_namespace(const std::string& name);

 private:
  struct Prior {
    Entry entry;
    base::json::Value manifest;
  };
  Outcome<Prior> existing(const Call& call) const;
  Outcome<> check_type(const Served& served, base::json::Value& object) const;
  Outcome<> check_namespace(const Call& call, base::json::Value& object) const;
  /// Takes away what the schema does not know; warnings, or an error for fieldValidation=Strict.
  Outcome<std::vector<std::string>> prune(const Call& call, base::json::Value& object) const;
  /// Defaults, and the causes that speak against the object.
  std::vector<Cause> complete(const Served& served, base::json::Value& object,
                              const base::json::Value* old) const;
  Outcome<> name_it(const Call& call, base::json::Value& object);
  Outcome<Written> replace(const Call& call, const Prior& prior, base::json::Value object);
  Outcome<> check_replacement(const Call& call, const Prior& prior,
                              const base::json::Value& object) const;
  void carry_over(const Call& call, const Prior& prior, base::json::Value& object) const;
  Outcome<base::json::Value> patched(const Call& call, const base::json::Value& current,
                                     std::string_view type) const;
  Outcome<Written> apply(const Call& call);
  Entry commit(const Served& served, const std::string& key, Body body, bool deleted);
  /// A definition was written: its kind is served, or no longer.
  void follow_definition(const Entry& entry, bool deleted);
  /// Deletes the objects of a definition's kind; how many wait for finalizers.
  std::size_t empty_definition(const base::json::Value& definition);
  /// Ends the deletion of a definition whose last object has gone.
  void finish_definition(const Served& served);
  std::string new_uid();
  std::string new_suffix();

  Store& store_;
  Registry& registry_;
  const base::Clock& clock_;
  std::uint64_t seed_;
  std::recursive_mutex mutex_;
  std::uint64_t uids_ = 0;
  std::mt19937_64 random_;
  /// What a manager applied last, by resource, key and manager.
  std::map<std::string, base::json::Value> applied_;
};

}  // namespace kollect::sandbox
