// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "record.hpp"

#include <tenure/backend/backend.hpp>

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace own_store
{

/** Keys with owners, one file for each, in a directory that processes of one machine share.
 *
 *  Each function answers what the function of `tenure::Backend` with its name is asked, and blocks meanwhile. Two rules
 * make it atomic. A process that reads a file in order to change it holds the lock of the directory. And a file is
 * replaced as a whole, by `rename`: a process that is killed leaves the old record or the new one, and the kernel frees
 * its lock.
 *
 *  @par Thread safety  Distinct objects on one directory: safe. One object: one thread, except `close`.
 */
class Directory
{
public:
    /** @throws std::filesystem::filesystem_error if the directory does not exist and cannot be made */
    explicit Directory(std::filesystem::path path);

    [[nodiscard]] tenure::backend::ClaimReply claim(tenure::backend::ClaimRequest const& request);
    [[nodiscard]] std::vector<tenure::backend::RenewAnswer>
    renew(std::vector<tenure::backend::RenewRequest> const& requests);
    [[nodiscard]] tenure::backend::ReleaseReply release(tenure::backend::ReleaseRequest const& request);
    [[nodiscard]] tenure::backend::WithdrawReply withdraw(tenure::backend::WithdrawRequest const& request);
    [[nodiscard]] tenure::backend::ReadyReply ready(tenure::backend::Deadline const& not_after);
    [[nodiscard]] tenure::backend::InspectReply inspect(tenure::backend::InspectRequest const& request);
    [[nodiscard]] tenure::backend::EvictReply evict(tenure::backend::EvictRequest const& request);

    /** From now on every request is answered at once, as not sent. Safe from any thread. */
    void close() noexcept { closed_ = true; }

    [[nodiscard]] std::filesystem::path const& path() const noexcept { return path_; }
    /** The file that a release changes, for watchers. */
    [[nodiscard]] std::filesystem::path released_file() const { return path_ / ".released"; }
    /** A file is written here, and then takes its key's place. */
    [[nodiscard]] std::filesystem::path draft() const { return path_ / ".draft"; }

private:
    /** Runs `function` under the lock, and makes a reply of a `Failed` that it throws. */
    template <class Reply>
    [[nodiscard]] Reply locked(tenure::backend::Deadline const& not_after, std::function<Reply()> const& function);

    /** A record that says "free" if there is no file. */
    [[nodiscard]] Record load(std::string const& key);
    void store(std::string const& key, Record const& record);
    void tell_waiters() const;

    [[nodiscard]] tenure::backend::Granted
    grant(tenure::backend::ClaimRequest const& request, std::uint32_t index, Record record, tenure::Instant since);
    [[nodiscard]] tenure::backend::RenewReply
    renew_one(tenure::backend::RenewRequest const& request, tenure::Instant since);

    std::filesystem::path path_;
    std::atomic<bool> closed_{false};
};

} // namespace own_store
