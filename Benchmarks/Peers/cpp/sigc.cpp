// SPDX-License-Identifier: Apache-2.0

#include "peer.hpp"

#include <sigc++/sigc++.h>

/// libsigc++, whose signals belong to one thread at a time.
struct Signal {
    sigc::signal<void, long> signal;

    sigc::connection connect(sigc::slot<void, long> observer) { return signal.connect(observer); }
    void disconnect(sigc::connection connection) { connection.disconnect(); }
    void notify(long event) { signal.emit(event); }
};

int main() { return serve<Signal>(1); }
