// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tenure::test
{

/** A request: the command's name and its arguments. */
using Words = std::vector<std::string>;

/** The purpose of a request, independent of the way it is written. */
enum class Purpose { login, claim, renewal, release, withdrawal, inspection, subscription, other };

[[nodiscard]] Purpose purpose_of(Words const& request);

/** `$5\r\nvalue\r\n` */
[[nodiscard]] std::string bulk(std::string const& value);

/** The keys of a server that behaves: as much of Redis as leases use, answered in RESP3. Knows the library's scripts by
 * their hash, and what they are documented to do. */
class ScriptedKeyspace
{
public:
    /** The commands of a connection between MULTI and EXEC; unset: it is in no transaction. */
    using Queued = std::optional<std::vector<Words>>;

    /** Carries the request out and returns the reply's bytes. */
    [[nodiscard]] std::string answer(Words const& request, Queued& queued);

    /** The value of a key that has not expired. */
    [[nodiscard]] std::optional<std::string> value(std::string const& key);

    /** The fencing token of the next grant; they go on from there. */
    void next_token(std::uint64_t token) { token_ = token; }

private:
    struct Entry {
        std::string owner;
        std::chrono::steady_clock::time_point expiry;
    };
    /** The arguments of a call of a script. */
    struct Call {
        Words keys;
        Words values;
    };

    [[nodiscard]] std::string run(Words const& request);
    [[nodiscard]] std::string run_script(Words const& request);
    [[nodiscard]] std::string claim(Call const& call, bool search, bool take);
    [[nodiscard]] std::string renew(Call const& call);
    [[nodiscard]] std::string release(Call const& call);
    [[nodiscard]] std::string withdraw(Call const& call);
    [[nodiscard]] std::string set(Words const& request);

    std::map<std::string, Entry> keys_;
    std::uint64_t token_ = 1'700'000'000'000'000;
};

} // namespace tenure::test
