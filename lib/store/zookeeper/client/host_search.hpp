// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <net/name_lookup.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/zookeeper.hpp>

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace tenure::zookeeper
{

/** Finds the addresses of all servers at once: the C client would block for each of them. */
class HostSearch : public std::enable_shared_from_this<HostSearch>
{
public:
    /** `127.0.0.1:2181`, of each server. */
    using Addresses = std::vector<std::vector<std::string>>;
    struct Result {
        Addresses addresses;
        /// all of them as the C client takes them: `127.0.0.1:2181,::1:2181`; empty: nothing was found
        std::string servers;
        /// what was not found, and why
        std::string trouble;
    };
    using Handler = std::function<void(Result const&)>;

    /** @param known  what an earlier search found: it stands for servers that cannot be found now */
    HostSearch(std::shared_ptr<Runtime> runtime, std::vector<Endpoint> servers, Addresses known, Handler handler);

    /** Calls back once, on the strand, never inside this call. */
    void start();
    void cancel() noexcept;

private:
    void found(std::size_t position, std::vector<std::string> addresses, std::string const& trouble);

    std::shared_ptr<Runtime> runtime_;
    std::vector<Endpoint> servers_;
    /// null once called, or cancelled
    Handler handler_;
    /// under way; of each server
    std::list<net::NameLookup> lookups_;
    Addresses addresses_;
    std::string trouble_;
    std::size_t open_;
};

} // namespace tenure::zookeeper
