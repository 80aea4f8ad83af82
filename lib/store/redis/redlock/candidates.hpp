// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/clock.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace tenure::redlock
{

/** What the claims of this process know of each other's keys. Belongs to the strand. */
class Candidates
{
public:
    /** A claim of this process is voting on the key: another one need not try it too. */
    [[nodiscard]] bool contains(std::string_view key) const { return voted_on_.contains(key); }
    void add(std::string key) { voted_on_.insert(std::move(key)); }
    void remove(std::string const& key) { voted_on_.erase(key); }

    /** Others held the key lately. Whoever claims such a key without a look takes it from a minority for a moment, and
     * may keep its holder from getting that back. */
    [[nodiscard]] bool contended(std::string_view key, Instant now) const
    {
        auto const found = contended_until_.find(key);
        return found != contended_until_.end() && now < found->second;
    }
    void note_contended(std::string const& key, Instant until)
    {
        if (contended_until_.size() >= most_contended)
            contended_until_.clear();
        contended_until_[key] = until;
    }

private:
    static constexpr std::size_t most_contended = 4096;

    std::set<std::string, std::less<>> voted_on_;
    std::map<std::string, Instant, std::less<>> contended_until_;
};

} // namespace tenure::redlock
